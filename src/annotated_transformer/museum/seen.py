"""Where each bug has been seen: somebody really had it, or a near relative, which is said.

Read in November 2026, from stored threads; how each of them ended is not always known.
"""

from dataclasses import dataclass

GITHUB = "https://github.com/"


class AtAPlace:
    """What stands at a place: repository and number, or an address."""

    place: str

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        if self.place.startswith("https://"):
            return self.place
        repository, number = self.place.split("#")
        return f"{GITHUB}{repository}/issues/{number}"

    @property
    def place_name(self) -> str:
        """As "owner/name#3", or the host of an address."""
        return self.place.split("/")[2] if self.place.startswith("https://") else self.place


@dataclass(frozen=True)
class Seen(AtAPlace):
    """A bug that somebody had.

    Attributes:
        place: see `AtAPlace`.
        says: what happened there.
        differs: how it is another bug than the exhibit's; "" where it is the same.
    """

    place: str
    says: str
    differs: str = ""


@dataclass(frozen=True)
class Quote(AtAPlace):
    """What somebody wrote before the cause was known.

    Attributes:
        words: as they stand there.
        place: see `AtAPlace`.
        bug: what it was, or most likely was.
        sure: whether the thread says so.
    """

    words: str
    place: str
    bug: str
    sure: bool


SEEN: dict[str, Seen] = {
    "no-causal-mask": Seen(
        "huggingface/transformers#48745",
        "Four classes of language models attended to what comes later. Trained on random tokens, "
        "their loss fell to almost zero.",
    ),
    "mask-off-by-one": Seen(
        "Project-MONAI/GenerativeModels#314",
        "Position n was asked for token n while it saw tokens 0 to n: the model learned to copy.",
        "there the labels were one off, and the mask was right",
    ),
    "no-shift-no-mask": Seen(
        "https://discuss.pytorch.org/t/nn-transformer-explaination/53175/20",
        "The target was given to the decoder and the same target asked back; nothing could be "
        "translated.",
        "the writer had a mask: without the shift it does not help",
    ),
    "pads-attended": Seen(
        "TransformerLensOrg/TransformerLens#1005",
        "Padding was not masked while a batch was written, so that it answered otherwise than one "
        "sentence at a time.",
        "padding of a prompt, not of a source",
    ),
    "pads-in-loss": Seen(
        "https://discuss.huggingface.co/t/"
        "train-bart-for-conditional-generation-e-g-summarization/1904",
        "Until padding was taken out of the labels, the loss went down and the summaries were bad.",
    ),
    "pads-smoothed": Seen(
        "pytorch/pytorch#73205",
        "PyTorch's own cross-entropy: with smoothing, the uniform part counted what is ignored.",
    ),
    "no-scale": Seen(
        "delzac/cntkx#10",
        'A "scaled" dot-product attention that never divided by the root.',
    ),
    "scaled-twice": Seen(
        "huggingface/transformers#38290",
        "The model scaled its queries, and the attention function scaled them once more.",
        "found on ready weights, not in training",
    ),
    "softmax-over-queries": Seen(
        "labmlai/annotated_deep_learning_paper_implementations#146",
        'The softmax ran over the queries; "a big bug", says the author. Who trained it again saw '
        "hardly a difference.",
        "a network for images, where nothing has to be hidden",
    ),
    "heads-viewed": Seen(
        "reczoo/FuxiCTR#30",
        "A view without a transposition mixed samples and heads. It had been copied from a post "
        "into three models.",
    ),
    "no-positions": Seen(
        "Lightning-AI/pytorch-lightning#19138",
        "The sum with the positions was computed and not kept.",
    ),
    "positions-lost-in-decoding": Seen(
        "ml-explore/mlx-lm#93",
        "GPT-2 with a cache gave every new token position zero; the text was distorted.",
    ),
    "scale-on-one-side": Seen(
        "shamanez/Self-Supervised-Embedding-Fusion-Transformer#4",
        "A slip scaled one input again in place of the other.",
        "the two sides are text and video",
    ),
    "tied-by-value": Seen(
        "dhansmair/flamingo-mini#4",
        "The output's weights were a copy of the embedding's: twice the memory.",
        "that model was frozen, so that the two stayed alike",
    ),
    "residual-lost": Seen(
        "kyegomez/BitNet#32",
        "What attention gave was put in the place of x before x was added.",
    ),
    "norm-over-positions": Seen(
        "jadore801120/attention-is-all-you-need-pytorch#17",
        "LayerNorm took its mean over the positions; two weeks earlier the same code had merged "
        "its heads by a view.",
    ),
    "dropout-when-asked": Seen(
        "facebookresearch/XLM#101",
        "The same input gave another output at each run; `model.eval()` was missing.",
    ),
    "no-dropout": Seen(
        "webis-de/small-text#40",
        "The model stayed in evaluation mode after its first validation.",
    ),
    "rate-stepped-twice": Seen(
        "huggingface/transformers#26827",
        "On two GPUs the rate was zero after half of the steps: the schedule was stepped once in "
        "each process.",
    ),
    "rate-never-stepped": Seen(
        "ooples/AiDotNet#1470",
        "A faster way through the code never advanced the schedule; the loss stayed where the "
        "first step's rate left it.",
    ),
    "gradient-kept": Seen(
        "IBM/aihwkit#446",
        "`zero_grad` was missing in examples; the loss fell from 1.03 to 0.06 and rose to 0.87.",
    ),
    "mean-of-means": Seen(
        "huggingface/transformers#34191",
        "Micro-batches of unequal numbers of tokens, and the mean of their means.",
    ),
    "average-of-strangers": Seen(
        "wandb/senpai#2142",
        "Two runs with errors of 13 each; the average of their weights had 833.",
        "a trial made on purpose",
    ),
    "no-bos": Seen(
        "ThilinaRajapakse/simpletransformers#1405",
        "Trained without the start token and decoded with it: the first token was missing.",
    ),
    "no-eos": Seen(
        "tatsu-lab/stanford_alpaca#126",
        "No end token behind the training examples, so that the model never learned to say it.",
    ),
    "truncated-targets": Seen(
        "nlpyang/PreSumm#73",
        "Targets were cut at a length and ended there with an end token.",
        "a question that nobody answered",
    ),
    "vocabulary-of-another-run": Seen(
        "mozilla/translations#90",
        "The vocabulary was made anew and the model was of the old one: half-French words came "
        "out.",
    ),
    "cache-not-reordered": Seen(
        "awslabs/sockeye#731",
        "The states were sorted by the beam, and the result was not assigned.",
    ),
    "scored-in-pieces": Seen(
        "huggingface/datasets#137",
        "Scores over one's own tokens cannot be compared; it cites differences of up to 1.8 "
        "points (Post, 2018).",
    ),
    "scored-with-the-references": Seen(
        "code-gen/cscg#4",
        "The evaluation gave the true token before; the author agreed.",
        "an LSTM",
    ),
}

QUOTES = (
    Quote(
        "I get 98% accuracy after 10 epochs on the multi30k validation set",
        "jadore801120/attention-is-all-you-need-pytorch#19",
        "norm-over-positions",
        sure=False,
    ),
    Quote(
        "I find that the learning rate is 0 after half of args.max_train_steps.",
        "huggingface/transformers#26827",
        "rate-stepped-twice",
        sure=True,
    ),
    Quote(
        "endlessly generate texts until `max_new_tokens` is reached",
        "huggingface/trl#734",
        "no-eos",
        sure=True,
    ),
    Quote(
        "However, the outputs of the model are different for the same input on multiple re-runs.",
        "facebookresearch/XLM#101",
        "dropout-when-asked",
        sure=True,
    ),
    Quote(
        "All the model does is copying the decoder input to its output.",
        "Kyubyong/transformer#94",
        "no-shift-no-mask",
        sure=False,
    ),
    Quote(
        "the quality is terrible.",
        "mozilla/translations#90",
        "vocabulary-of-another-run",
        sure=True,
    ),
)
