"""Instructor mode: whole notebooks of others, graded apart from the references.

In the order of the work: `submission` reads a notebook; `session` starts a process for it and talks
with it over a socket; in that process `worker` runs the cells behind the kernel's `walls`, on the
stand-ins of `facade`, and answers by `wire`; a function among the inputs stays outside and is
called from there (`remote`); `marking` turns what comes back into marks by an `assignment`, and
`summary` writes them down.
"""
