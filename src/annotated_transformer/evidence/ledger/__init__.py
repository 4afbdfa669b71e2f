"""The ledger: every fact of the paper, what we did about it, and the runs that were recorded."""

STATUSES = ("finished", "interrupted", "failed")  # how a recorded run can have ended
