"""The wrong lengths of `ablations.attention_flops`: where both parts are said to cost the same."""

from annotated_transformer.exercises.content.faults import Fault

_NO_LENGTH = (
    "The second number is in operations, for the given n. Asked for is a number of tokens: the n "
    "at which 4n²d and 8nd² are equal, 2 d_model."
)
_STILL_N = (
    "The second number depends on the given n. Both sides grow with n; one n cancels: 4n²d = 8nd² "
    "leaves n = 2 d_model."
)
LENGTHS = (
    Fault(
        "length-d",
        {"length": lambda n, d, h: d},
        "The length is given as d_model, as comparing n²d with nd² in Table 1 suggests. With the "
        "numbers in front it is 4n²d = 8nd², so n = 2 d_model.",
    ),
    Fault(
        "length-4d",
        {"length": lambda n, d, h: 4 * d},
        "The length is given as 4 d_model: only one of q k^T and weights times v is compared. Both "
        "together cost 4n²d, the projections 8nd²: n = 2 d_model.",
    ),
    Fault(
        "length-by-heads",
        {"length": lambda n, d, h: 2 * d / h},
        "The length is divided by n_heads. All heads together cost 4n²d, whatever their number: "
        "n = 2 d_model.",
    ),
    Fault(
        "length-of-a-head",
        {"length": lambda n, d, h: d / h},
        "The length is given as d_k. All heads together cost 4n²d, the projections 8nd²: "
        "n = 2 d_model.",
    ),
    Fault(
        "length-one-more",
        {"length": lambda n, d, h: 2 * d + 1},
        "The length is one too large: at 2 d_model + 1 scores and averages cost more. Asked for "
        "is where both cost the same, 2 d_model.",
    ),
    Fault(
        "length-1",
        {"length": lambda n, d, h: 1},
        "The length is given as 1, as if n² always dominated. 4n²d reaches 8nd² only at "
        "n = 2 d_model; below, the projections cost more.",
    ),
    Fault(
        "length-0",
        {"length": lambda n, d, h: 0},
        "The length is given as 0, which is the other solution of 4n²d = 8nd². Divide by n: "
        "n = 2 d_model.",
    ),
    Fault(
        "length-n",
        {"length": lambda n, d, h: n},
        "The second number is the given n. Asked for is the length at which both halves would "
        "cost the same, for this d_model: 4n²d = 8nd².",
    ),
    Fault(
        "length-half-d",
        {"length": lambda n, d, h: d / 2},
        "The length is given as d_model / 2: the equation is solved upside down. 4n²d = 8nd² "
        "gives n = 8d / 4.",
    ),
    Fault(
        "length-1.5d",
        {"length": lambda n, d, h: 1.5 * d},
        "The length is given as 3/2 d_model: three projections are compared. There are four, W^O "
        "included: 8nd² = 4n²d.",
    ),
    Fault(
        "length-3d",
        {"length": lambda n, d, h: 3 * d},
        "The length is given as 3 d_model: three projections are compared with one product. There "
        "are four projections, 8nd², and two products, 4n²d.",
    ),
    Fault(
        "length-6d",
        {"length": lambda n, d, h: 6 * d},
        "6 d_model is the length for a whole layer; here there is no feed-forward network. Four "
        "projections cost 8nd², scores and averages 4n²d: n = 2 d_model.",
    ),
    *(
        Fault(f"length-from-n-{name}", {"length": length}, _STILL_N)
        for name, length in (
            ("over-n-squared", lambda n, d, h: 2 * d * d / n),
            ("over-n-squared-and-d", lambda n, d, h: 2 * d / n),
            ("by-a-root", lambda n, d, h: (2 * n * d) ** 0.5),
        )
    ),
    Fault(
        "length-8d",
        {"length": lambda n, d, h: 8 * d},
        "The length is given as 8 d_model: the operations of a multiply-add are counted on one "
        "side only. 8nd² = 4n²d gives n = 2 d_model.",
    ),
    Fault(
        "length-times-heads",
        {"length": lambda n, d, h: 2 * d * h},
        "The length is multiplied by n_heads. All heads together cost 4n²d: n = 2 d_model.",
    ),
    Fault(
        "length-of-the-base-model",
        {"length": lambda n, d, h: 1024},
        "The length is always 1,024. That is 2 · 512, for the base model; take the argument "
        "d_model.",
    ),
    Fault(
        "length-of-the-base-model-d",
        {"length": lambda n, d, h: 512},
        "The length is always 512, the width of the base model. Take the argument d_model: "
        "4n²d = 8nd² at n = 2 d_model.",
    ),
    Fault(
        "difference-of-the-costs",
        {"length": lambda n, d, h: 8 * n * d * d - 4 * n * n * d},
        _NO_LENGTH,
    ),
    Fault(
        "difference-of-the-costs-turned",
        {"length": lambda n, d, h: 4 * n * n * d - 8 * n * d * d},
        _NO_LENGTH,
    ),
    Fault(
        "cost-of-the-projections",
        {"length": lambda n, d, h: 8 * n * d * d},
        _NO_LENGTH,
    ),
    Fault(
        "length-2n",
        {"length": lambda n, d, h: 2 * n},
        "The second number is 2n: n and d_model are exchanged. The length depends on d_model "
        "alone, 4n²d = 8nd² gives n = 2 d_model.",
    ),
    Fault(
        "length-minus-n",
        {"length": lambda n, d, h: 2 * d - n},
        "The second number is how far n is from that length. Give the length itself, 2 d_model.",
    ),
    Fault(
        "length-d-squared",
        {"length": lambda n, d, h: d * d},
        "The length is given as d_model². 4n²d = 8nd²: divide both sides by 4nd.",
    ),
    Fault(
        "ratio",
        {"length": lambda n, d, h: n / (2 * d)},
        "The second number is how the two halves compare at the given n. Asked for is the length "
        "at which they are equal.",
    ),
    Fault(
        "is-it-longer",
        {"length": lambda n, d, h: n >= 2 * d, "result": lambda flops, length: (flops, length > 0)},
        "The second answer is whether n is that long. Asked for is the length itself.",
    ),
)
