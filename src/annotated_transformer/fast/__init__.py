"""What makes training and search fast; the paper's modules know none of it.

Given to a model from outside:

    attach           the one place that gives a model the parts below: `use_fast_paths(model)`
    cpu_attention    attention in bfloat16 on a CPU, in plain operations
    packing          on a CPU, batches without their padding, from packed rows to packed rows
    embedding        embeddings of tokens at any positions, in the precision that products take
    byte_dropout     dropout from random bytes: `use_byte_dropout(model)`
    compiling        torch.compile, layer by layer: `compile_layers(model, ...)`
    fused_relu       on a GPU, the first half of the feed-forward network in one kernel

What training and search run in place of what is written to be read:

    projected_loss   label smoothing and R-Drop with the projection taken in, part by part
    top_k            the best tokens of a vocabulary

Chosen by training, whose settings name them:

    memory           freed memory stays with the process: `keep_freed_memory()`
    shared_rows      several sentences in a row of a batch, all batches of one shape
    graphs           on a GPU, a step recorded once and replayed
"""
