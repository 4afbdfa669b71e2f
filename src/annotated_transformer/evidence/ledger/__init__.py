"""The ledger: every fact of the paper, what we did about it, and the runs that were recorded."""
