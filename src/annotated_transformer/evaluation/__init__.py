"""How good a model is: its translations scored, and how probable it finds the references.

Its modules:

    translation    lines in, lines out, with all that a search can tell
    likelihood     loss, perplexity and accuracy, each past given
    scoring        BLEU and chrF with their signatures
    bleu, chrf     the two measures themselves
    brackets       of constituency trees, counted as EVALB counts them
    significance   how sure a difference of scores is
    forensics      one output under every protocol that papers use
    explain        from a low score to its causes, which stand in `causes_in_form`,
                   `causes_in_texts` and `causes_in_a_model`
"""
