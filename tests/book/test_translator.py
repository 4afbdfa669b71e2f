"""The translator of the page against the package: the same tokens, translations, weights.

book/_static/translator.js runs in Node here, with the numbers that the site gives it.
"""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import page_program
from annotated_transformer.data.grammar import TRAVELLING_SENTENCE, generate_corpus
from annotated_transformer.evaluation.translation import source_ids, translate_sentences
from annotated_transformer.inspection import recording_attention
from annotated_transformer.shipped import load_shipped
from annotated_transformer.transformer import Transformer, evaluation_mode
from look_inside import numbers_script
from page_program import STATIC

BOOK = Path(__file__).resolve().parents[2] / "book"
TEST = generate_corpus(train=1).splits["test"]
SPECIAL = [
    "",
    " ",
    "▁",
    "▁▁ ▁",
    "the ▁cat",
    " .",
    ". .",
    ",,,...",
    "a_b ▁c",
    "<s> </s> <unk> <pad>",
]
SPECIAL += [
    "The  cat\tsleeps\n.",
    "cafe\u0301 naïve",
    "U\u0308ber",
    "\ufeffbom",
    "\x00nul",
    "x" * 300,
]
SPECIAL += [
    "a\u00a0b\u2003c\u3000d",
    "\u200bzero\u200bwidth",
    "\x1funit\x1esep",
    "\x85nel",
    "é\u0301",
]
SPECIAL += [
    "emoji 😀 👩‍👩‍👧",
    "日本語。テスト",
    "المرأة",
    "한국어",
    "ﬁ ǆ ẞ",
    "$5 & 10% @home #tag ^~`|",
    "“”‘’‹›«»",
]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("site") / "numbers.js"
    path.write_text(numbers_script(), encoding="utf-8")
    return path


def test_its_size_is_what_the_pages_say(numbers: Path) -> None:
    model, _ = load_shipped()
    page = (BOOK / "look_inside.md").read_text(encoding="utf-8")
    assert f"{sum(each.numel() for each in model.parameters()):,} numbers" in page
    megabytes = len(gzip.compress(numbers.read_bytes())) / 1e6
    front = (BOOK / "_extensions" / "front_page.py").read_text(encoding="utf-8")
    assert f", {megabytes:.1f} MB are loaded)" in front


def ask(numbers: Path, question: str, given: Any) -> Any:
    """What the page's translator answers; `question` is a function's body, of it and `given`."""
    begin = "const translator = new BookTranslator.Translator(BOOK_TRANSLATOR); "
    return page_program.ask([numbers, STATIC / "translator.js"], begin + question, given)


def typed(count: int) -> list[str]:
    """What one may type: any signs, and words of the corpus in any order."""
    draw = random.Random(0)
    signs = [chr(code) for code in range(32, 127)] + list(
        "äöüßÄÖÜéèñçøåœ▁…–—“”’\u00a0\u0301\u0308\u2028\t\n😀中аب"
    )
    words = sorted({word for sentence in TEST.source for word in sentence.split()})
    return [
        "".join(draw.choices(signs, k=draw.randint(1, 40)))
        if number % 4
        else " ".join(draw.choices(words, k=draw.randint(1, 12)))
        for number in range(count)
    ]


def test_the_same_tokens_for_whatever_is_typed(numbers: Path) -> None:
    _, vocabulary = load_shipped()
    texts = [*SPECIAL, *typed(4_000), *TEST.source, *TEST.target]
    question = (
        "const { vocabulary } = translator; return given.map((text) => vocabulary.encode(text))"
    )
    question += ".map((ids) => [ids, vocabulary.decode(ids), vocabulary.wordIndices(ids)]);"
    for text, (ids, back, words) in zip(texts, ask(numbers, question, texts), strict=True):
        assert ids == vocabulary.encode(text), text
        if vocabulary.unk_id not in ids:
            assert back == vocabulary.decode(ids), text
            assert words == vocabulary.word_indices(text), text


@pytest.mark.parametrize(
    "count", [100, pytest.param(len(TEST), marks=pytest.mark.slow)], ids=["a few", "all"]
)
@pytest.mark.parametrize("size", [1, 4], ids=["greedy", "beam"])
def test_the_same_translations(numbers: Path, count: int, size: int) -> None:
    """In 16 bits, which the page reads, as in the package's 32."""
    model, vocabulary = load_shipped()
    sentences = TEST.source[:count]
    question = (
        "return given.texts.map((text) => translator.translate(text, { size: given.size }).text)"
    )
    found = ask(numbers, question, {"texts": sentences, "size": size})
    assert found == translate_sentences(model, vocabulary, sentences, beam_size=size)


@torch.no_grad()
def of_the_package(model: Transformer, source: list[int], target: list[int]) -> dict[str, Tensor]:
    """Logits of each step, and all weights by the names of their modules."""
    with evaluation_mode(model), recording_attention(model) as recorded:
        logits = model(torch.tensor([source]), torch.tensor([target]))
    return {"logits": logits[0], **{name: weights[0] for name, weights in recorded.items()}}


QUESTION = """
const numbered = (kind, layer) => `${kind.replace("L", layer)}_attention`;
return given.map(({ text, prefix, off }) => {
  const found = translator.translate(text, { prefix, off: new Set(off) });
  const steps = found.steps.slice(0, prefix.length + 1);
  const told = { logits: steps.map((step) => Array.from(step.logits)) };
  found.encoder.forEach((heads, layer) => {
    told[numbered("encoder.layers.L.self", layer)] = heads;
  });
  for (const kind of ["self", "cross"]) {
    steps[0][kind].forEach((heads, layer) => {
      told[numbered(`decoder.layers.L.${kind}`, layer)] = heads.map((_, head) => {
        const rows = steps.map((step) => step[kind][layer][head]);
        return rows.map((row) => Array.from(rows.at(-1), (_, key) => row[key] ?? 0));
      });
    });
  }
  return told;
});
"""


def test_the_same_logits_and_weights_up_to_16_bits(numbers: Path) -> None:
    model, vocabulary = load_shipped()
    pairs = [*zip(TEST.source[:20], TEST.target[:20], strict=True)]
    given = [{"text": s, "prefix": vocabulary.encode(t), "off": []} for s, t in pairs]
    for one, told in zip(given, ask(numbers, QUESTION, given), strict=True):
        [source] = source_ids(vocabulary, [one["text"]])
        expected = of_the_package(model, source, [vocabulary.bos_id, *one["prefix"]])
        assert told.keys() == expected.keys()
        for name, values in told.items():
            bound = 0.02 if name == "logits" else 2e-3
            torch.testing.assert_close(
                torch.tensor(values),
                expected[name],
                atol=bound,
                rtol=0,
                msg=lambda m, n=name: n + m,
            )


@pytest.mark.parametrize(
    "name",
    [
        "encoder.layers.1.self_attention",
        "decoder.layers.0.self_attention",
        "decoder.layers.1.cross_attention",
    ],
)
def test_a_head_taken_away_adds_nothing(numbers: Path, name: str) -> None:
    """As if the columns of W^O that read it were zero."""
    model, vocabulary = load_shipped()
    head, d_k = 2, model.config.head_widths[0]
    pair = TRAVELLING_SENTENCE
    [source] = source_ids(vocabulary, [pair.source])
    prefix = vocabulary.encode(pair.target)
    whole = of_the_package(model, source, [vocabulary.bos_id, *prefix])["logits"]
    with torch.no_grad():
        projection = model.get_submodule(name).output_projection.weight
        projection[:, head * d_k : (head + 1) * d_k] = 0
    expected = of_the_package(model, source, [vocabulary.bos_id, *prefix])["logits"]
    given = [{"text": pair.source, "prefix": prefix, "off": [f"{name}.{head}"]}]
    [told] = ask(numbers, QUESTION, given)
    assert (whole - expected).abs().max() > 0.2
    torch.testing.assert_close(torch.tensor(told["logits"]), expected, atol=0.02, rtol=0)


def test_what_cannot_be_translated_is_said(numbers: Path) -> None:
    empty, long = ask(
        numbers,
        "try { translator.translate('cat '.repeat(300)); } catch (error) "
        "{ return [translator.translate('  ').target, error.message]; }",
        None,
    )
    assert empty == []
    assert long == "301 pieces were given; at most 100 are translated here."
