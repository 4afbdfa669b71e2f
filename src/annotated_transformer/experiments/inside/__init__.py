"""What a trained translator does inside, measured (chapter 11, and Figures 3 to 5 of the paper).

looks         the weights of every head on sentences, in words
heads         what each head looks at: places, related words, how many words at once
alignments    which source word a layer points at, scored as alignments are
removal       taking heads away: one, many, greedily
agreement     whether the heads of another training are the same heads
pictures      the most beautiful picture among many, of a relation and of none
antecedents   from where "it" gets its gender: one place exchanged at a time
lens          what the decoder would say after each layer
probes        what can be read off a vector, beside what can be read off anything
explained     which source word mattered: by weight, by gradient, by taking it away
induction     a head that looks for what followed last time, and a test of it that can fail
"""
