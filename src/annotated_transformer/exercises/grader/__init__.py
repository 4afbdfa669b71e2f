"""How a candidate is run apart from the checker, compared, and its mistake named.

In the order of a check: `grading` (the whole way), `sandbox` with `child` and `confinement` (the
run in a process of its own), `values` and `outcomes` (what comes back, as plain data), `ladder`
with `compare` (the first thing that is wrong), `diagnosis` (which named mistake explains it).
"""
