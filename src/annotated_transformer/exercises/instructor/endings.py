"""The exit statuses by which the warden tells the marker which limit ended a notebook.

No notebook can give them: what its own process exits with stays with the warden.
"""

OUT_OF_TIME = 124  # of the processor
TOO_MANY_PROCESSES = 125
TOO_MUCH_MEMORY = 126
KILLED = 127  # by none of us: by the system, where the machine's memory ran out

# The statuses as the words for a notebook's end.
ENDINGS = {
    OUT_OF_TIME: "time",
    TOO_MANY_PROCESSES: "processes",
    TOO_MUCH_MEMORY: "memory",
    KILLED: "killed",
}
