"""Instructor mode: whole notebooks of others, graded apart from the references.

In the order of the work: `submission` reads a notebook; `process` starts a process for it, and
`session` talks with it over a socket; in that process `worker` runs the cells behind the kernel's
`walls`, without the `system_calls` that no exercise needs and under the eyes of a `warden`, on the
stand-ins of `facade`, and answers by `wire`; a function among the inputs stays outside and is
called from there (`remote`, `serving`); `marking` turns what comes back into marks by an
`assignment`, and `summary` writes them down.
"""
