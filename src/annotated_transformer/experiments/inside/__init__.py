"""What a trained translator does inside, measured (chapter 11, and Figures 3 to 5 of the paper).

The modules, in the order of the chapter; `inside_measured`, beside this package, records them for
several trainings:

    sentences     of which everything is known
    looks         the weights of every head on them, in words
    heads         what each head looks at: places, related words, how many words at once
    pictures      the strongest picture among many, of a relation and of none
    alignments    which source word a layer points at, scored as alignments are
    removal       heads taken away (ablation): one, many, greedily
    antecedents   from where "it" gets its gender: one place exchanged (activation patching)
    matching      whether the heads of another training are the same heads
    attribution   which source word mattered: by weight, by gradient, by taking it away
    states        what stands at each place before the first layer and after each
    lens          what the decoder would say after each layer
    probes        what can be read off these vectors
    induction     a head that looks for what followed last time, and a test of it that can fail
"""
