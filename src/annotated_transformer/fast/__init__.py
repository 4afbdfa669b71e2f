"""What makes training fast, attached to a model from outside; the paper's modules know none of it.

On a CPU and a GPU:

    attach           the one place that gives a model the parts below: `use_fast_paths(model)`
    cpu_attention    attention in bfloat16 on a CPU, in plain operations
    packing          batches without their padding: attention from packed rows to packed rows
    embedding        embeddings of tokens at any positions, in the precision that products take
    byte_dropout     dropout from random bytes: `use_byte_dropout(model)`
    memory           freed memory stays with the process: `keep_freed_memory()`

For a GPU:

    shared_rows      several sentences in a row of a batch, all batches of one shape
    compiling        torch.compile, layer by layer: `compile_layers(model, ...)`
    fused_relu       the first half of the feed-forward network in one kernel
    graphs           a step recorded once and replayed
    rounded_weights  the layers' weights in 16 bits as well
"""
