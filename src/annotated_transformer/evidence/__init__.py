"""What supports each number: the paper's tables, our studies, and the ledger of both.

Its parts:

    table3     Table 3 of the paper
    ablation   many runs that differ in one thing each
    ledger     every fact of the paper, what we did about it, and the runs that were recorded
"""
