"""How a candidate is run apart from the checker, compared, and its mistake named.

In the order of a check. The way there and back:

    grading       the whole way, from the candidate to the report
    stubs         a starting point that was not worked on is not graded
    sandbox       a process of its own for the run, and what it sends
    by_value      the candidate as bytes, where that process is a new Python
    child         in that process: every case in turn
    confinement   what that process may do
    pristine      the libraries as they were, whatever has been patched
    running       one call: result, exception, arguments afterwards, gradients
    arrays        an answer in NumPy: arrays in place of tensors, there and back
    watching      which torch operations it calls, for the exercises that ask
    failures      an exception as plain text
    values        what comes back, as plain data

What is wrong:

    outcomes      one function on one case, the candidate's or one of ours
    compare       two pieces of plain data
    ladder        the first rung that fails speaks
    answers       the same for named answers
    verdicts      the same for a test: what slips through it, what right form it refuses

Why it is wrong:

    diagnosis     the named mistake that explains it
    effects       which two may be at work at once, from what each does alone
    wordings      when two exceptions tell of the same accident
    mechanisms    where no named mistake does: what is right already
    regularities  a rule by which wrong numbers differ from the right ones
    accidents     exceptions that many first attempts end in
"""
