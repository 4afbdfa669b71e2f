"""Many runs that differ in one thing each: a plan written beforehand, a runner, what they found.

`annotated-transformer ablate` reads a plan (`plans/NAME.json`), trains and scores every row of it
(`runner.py`) and leaves one recorded run each; `differences.py` compares the rows with the base.
"""
