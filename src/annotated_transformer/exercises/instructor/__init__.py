"""Instructor mode: whole notebooks of others, graded apart from the references.

In the order of the work. With the marker, who knows the references:

    markers       the entry: notebooks side by side, each with a marker of its own
    submission    a file that was handed in, read as cells
    assignment    what counts: exercises, points, dates, seeds
    marking       one notebook's verdicts as marks
    session       the talk with the notebook's process: cells begun, candidates asked
    process       that process, started and ended with all that it has started
    serving       functions among the inputs that stay with the marker, called for a candidate
    summary       the marks as text, JSON and CSV

On both sides:

    wire          what crosses the socket between them
    endings       which limit ended a notebook, as exit statuses

With the notebook, where no reference can be had:

    worker        its process: puts up the walls, runs the cells, calls what they check
    walls         the kernel's walls: namespaces, mounts, files
    system_calls  the calls to the kernel that no exercise needs, refused
    warden        waits beside it and counts its processes and memory
    facade        stand-ins for the package and for what draws
    remote        a function that stayed with the marker, as the candidate sees it

This module imports nothing, so that `doctor` can name the walls on any system.
"""

ALL_WALLS = ("namespaces", "mounts", "files", "calls", "limits")
