"""What came after the paper: parts in place of its own, chosen by name; section 3 knows none of it.

config       `LaterConfig`: the paper's configuration and the names of the parts
build        `build_transformer(config)`: the one place that puts them into a model
norms        RMSNorm
networks     GELU, SwiGLU, a mixture of experts
inputs       queries, keys and values before attention, and what acts on them there:
             rotations, ALiBi, a norm, a window, keys that several heads share
attention    multi-head attention with any of these, and linear attention
families     the paper's encoder with another mask: a decoder-only and a prefix model
known_models GPT-2, BERT, T5, Llama and others, as configurations that are counted
optimizers   Muon, with Adam for what is no matrix of a layer
schedules    the rate after its warm-up: a cosine, or a plateau and a fall
"""
