"""What chapters show beside the paper's model: one module an experiment, and their instruments.

A chapter calls it, shows the figures and asserts what it says of them. Nothing else in the package
imports from here.

    recurrent, recurrent_runs   chapter 1: the translators of 2014 and 2015, trained
    layers_compared             chapters 1, 13: a recurrent layer, a convolution and self-attention
    positions_compared          chapter 4: small models that differ in their positions alone
    norms_compared              chapter 5: post-norm and pre-norm, at the start and in training
    leaks                       chapter 6: a decoder with and without shift and mask
    corpora_measured            chapter 7: words, pieces, lengths and padding of a corpus
    training_measured           chapter 8: small translators, with and without label smoothing
    averaging_measured          chapter 9: averages of a recorded run's last checkpoints
    forensics_measured          chapter 9: one recorded output under every protocol of BLEU
    complexity                  chapters 1, 13: Table 1 measured: exponents, crossovers
    long_context                chapter 13: what a long context costs, from a model's sizes
    inside, inside_measured     chapter 11: what a trained translator does inside
    parsing, parsing_measured   chapter 14: trees written as rows, a grammar, searches, scores
    after_measured              chapter 15: what a step of each later part costs
    recall_measured             chapter 15: one fact in a long text, by position and among others
    families_measured           chapter 15: three families trained on the same sentences
    sureness_measured           chapter 16: how sure translators are, and how often right
    serving_measured            chapter 16: latency and throughput, by batch and by length
    restricted                  section 4: attention to a neighbourhood
    tiled                       chapter 13: attention block by block, as fast kernels compute it
    in_numpy                    the model once more, with every gradient written by hand
    measurements                operations counted, memory kept, differences in one number
    records                     what is measured once, kept beside its module
    probing                     what can be read off vectors, and what keeps that honest
    small_training              the loop of models that are trained in a moment
    seeding                     random numbers of a seed, for several of them
"""
