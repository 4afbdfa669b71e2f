"""English constituency parsing (section 6.3): what chapter 14 does beside the model itself.

parser      a trained Transformer as a parser
search      a beam search that can only write trees
pcfg        a grammar counted in trees, and its best tree for a sentence
rivals      that grammar as a parser; trees that only branch to the right
silver      trees that the grammar draws, to train on

Trees and rows are in `data.trees`, classes of rare words in `data.word_classes`, the corpus in
`data.gum`, the score in `evaluation.brackets`, the drawing in `figures.trees`. What was measured
with all this is in `experiments.parsing_measured`, the parser that the package ships in `shipped`.
What the chapter calls signs are tokens here.
"""
