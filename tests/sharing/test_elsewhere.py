"""A model that left the house translates as it did at home."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from annotated_transformer.cli import build_parser, main
from annotated_transformer.data import Vocabulary, collate, generate_corpus
from annotated_transformer.decoding.beam import search
from annotated_transformer.evaluation.translation import (
    nbest_translations,
    source_ids,
    translate_sentences,
)
from annotated_transformer.sharing.card import EXAMPLES, LIBRARIES, USES
from annotated_transformer.sharing.ctranslate2_engine import CTranslate2Engine
from annotated_transformer.sharing.elsewhere import FORMS
from annotated_transformer.sharing.in_onnx import DecodeStep, Encode
from annotated_transformer.sharing.ports import LONGEST
from annotated_transformer.sharing.translator import Translator
from annotated_transformer.shipped import FOLDER, load_shipped
from toy_search import some_sources, toy_model

SENTENCES = generate_corpus()["valid"].source[:200]
MAX_EXTRA = 50
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's translator in every form; made once, as the graphs take seconds."""
    made = tmp_path_factory.mktemp("elsewhere")
    for form in ("huggingface", "ctranslate2", "ctranslate2-int8", "onnx"):
        call = ["export", "--run-dir", str(FOLDER), "--format", form, "--output"]
        assert main([*call, str(made / form), "--license", "cc-by-4.0"]) == 0
    return made


def ours(beam: int, sentences: Sequence[str] = SENTENCES) -> list[str]:
    """Our translations without a length penalty, where all definitions agree."""
    return translate_sentences(*load_shipped(), sentences, beam_size=beam, alpha=0.0)


def agreeing(found: Sequence[str], beam: int) -> int:
    """How many of 200 translations are ours."""
    return sum(one == other for one, other in zip(found, ours(beam), strict=True))


def lines_of_use(folder: Path) -> str:
    """The Python of a folder's README.md."""
    card = (folder / "README.md").read_text("utf-8")
    return re.search(r"```python\n(.*?)```", card, re.DOTALL)[1]


def run_as_written(code: str, sentence: str) -> Any:
    """What the last line of some code gives, with another sentence in it."""
    *lines, last = code.replace(EXAMPLES["en"], sentence).strip().split("\n")
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    return eval(last, names)


@pytest.mark.parametrize("form", ["huggingface", "ctranslate2", "ctranslate2-int8", "onnx"])
def test_the_lines_on_the_card_translate(
    form: str, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [sentence] = [one for one in SENTENCES if len(one.split()) == 6][:1]
    folder = folders / form
    code = lines_of_use(folder).replace("this folder, or its name on the hub", str(folder))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "translate", raising=False)
    found = run_as_written(code.replace("FOLDER", str(folder)), sentence)
    assert found in (ours(4, [sentence]), *ours(4, [sentence]))
    card = (folder / "README.md").read_text("utf-8")
    assert "license: cc-by-4.0" in card
    assert (
        f"library_name: {form.removesuffix('-int8').replace('huggingface', 'transformers')}" in card
    )


def test_the_page_shows_the_lines_of_the_cards() -> None:
    page = (ROOT / "book" / "handing_on.md").read_text("utf-8")
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    cards = "".join(USES.values()).replace("{example}", EXAMPLES["en"])
    assert shown == list(dict.fromkeys(re.findall(r"```python\n(.*?)```", cards, re.DOTALL)))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_for_others_is_no_run(
    form: str, folders: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", "--run-dir", str(folders / form), "A dog."]) == 2
    assert "holds no run" in capfd.readouterr().err


@pytest.fixture(scope="module")
def hugging_face(folders: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    folder = folders / "huggingface"
    return AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)


@pytest.mark.parametrize("beam", [1, 4])
def test_hugging_face_finds_what_we_find(beam: int, hugging_face: tuple[Any, Any]) -> None:
    tokenizer, model = hugging_face
    given = tokenizer(list(SENTENCES), return_tensors="pt", padding=True)
    found = model.generate(**given, num_beams=beam, length_penalty=0.0, early_stopping="never")
    texts = tokenizer.batch_decode(found, skip_special_tokens=True)
    assert agreeing(texts, beam) >= (200 if beam == 1 else 198)


@pytest.mark.parametrize("beam", [1, 4])
def test_ctranslate2_finds_what_we_find(beam: int, folders: Path) -> None:
    import ctranslate2
    from tokenizers import Tokenizer

    folder = folders / "ctranslate2"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    pieces = [tokenizer.encode(sentence).tokens for sentence in SENTENCES]
    found = translator.translate_batch(pieces, beam_size=beam, length_penalty=0.0)
    rows = [[tokenizer.token_to_id(piece) for piece in one.hypotheses[0]] for one in found]
    assert agreeing([tokenizer.decode(row) for row in rows], beam) >= (200 if beam == 1 else 198)


def test_rounded_matrices_hardly_change_a_translation(folders: Path) -> None:
    model, vocabulary = load_shipped()
    exact, rounded = (
        CTranslate2Engine(model, vocabulary, precision)(SENTENCES, beam_size=1)
        for precision in ("float32", "int8")
    )
    same = sum(a[0].text == b[0].text for a, b in zip(exact, rounded, strict=True))
    assert same >= 180
    files = [folders / form / "model.bin" for form in ("ctranslate2", "ctranslate2-int8")]
    whole, small = (file.stat().st_size for file in files)
    assert small < 0.4 * whole


def test_the_program_in_the_onnx_folder_is_greedy_search(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folders / "onnx"))
    monkeypatch.delitem(sys.modules, "translate", raising=False)
    from translate import Translator as OnnxTranslator

    translate = OnnxTranslator(folders / "onnx")
    assert agreeing([translate(sentence) for sentence in SENTENCES], beam=1) == 200
    assert translate(" ") == ""


class OnnxDecoder:
    """The graphs, to be searched with our beam search: a row for each hypothesis."""

    def __init__(self, folder: Path, src: Tensor) -> None:
        import onnxruntime

        encoder, self.decoder = (
            onnxruntime.InferenceSession(str(folder / f"{name}.onnx"))
            for name in ("encoder", "decoder")
        )
        self.source = src.numpy()
        self.memory = encoder.run(None, {"source": self.source})
        self.past: list[Any] = []  # (layers, live * beam, num_heads, n_past, d)
        self.beam = 1

    def next_logits(self, prefixes: Tensor) -> Tensor:
        live, self.beam, _ = prefixes.shape
        newest = prefixes[:, :, -1].reshape(-1, 1).numpy()
        keys, values = (np.repeat(one, self.beam, axis=1) for one in self.memory)
        past = self.past or [one[:, :, :, :0] for one in (keys, values)]
        logits, *self.past = self.decoder.run(
            None,
            {
                "token": newest,
                "source": np.repeat(self.source, self.beam, axis=0),
                "memory_keys": keys,
                "memory_values": values,
                "past_keys": past[0],
                "past_values": past[1],
            },
        )
        return torch.tensor(logits).view(live, self.beam, -1)

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        self.source = self.source[sentences.numpy()]
        self.memory = [one[:, sentences.numpy()] for one in self.memory]
        rows = (sentences[:, None] * self.beam + parents).reshape(-1).numpy()
        self.past = [one[:, rows] for one in self.past]


def test_the_graphs_are_searched_with_a_beam(folders: Path) -> None:
    _, vocabulary = load_shipped()
    src = collate(source_ids(vocabulary, SENTENCES), vocabulary.pad_id)
    found = search(
        OnnxDecoder(folders / "onnx", src),
        [int((row != vocabulary.pad_id).sum()) + MAX_EXTRA for row in src],
        beam_size=4,
        alpha=0.0,
        nbest=1,
        bos_id=vocabulary.bos_id,
        eos_id=vocabulary.eos_id,
        never=(vocabulary.pad_id, vocabulary.bos_id),
        device=src.device,
    )
    assert agreeing([vocabulary.decode(best.tokens) for [best] in found], beam=4) == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"norm": "pre", "attention_bias": True},
        {"positions": "learned", "max_positions": 40, "tie_embeddings": False},
        {"positions": "none", "d_k": 3, "d_v": 5, "decoder_layers": 3},
    ],
)
def test_steps_are_the_whole_decoder_at_once(changes: dict[str, Any]) -> None:
    """What becomes the graphs, for models that no other engine holds."""
    model = toy_model(**changes).float().eval()
    src = some_sources()
    tgt = torch.randint(4, model.config.vocab_size, (len(src), 5))
    heads, (d_k, d_v) = model.config.num_heads, model.config.head_widths
    past = [torch.zeros(model.config.depths[1], len(src), heads, 0, d) for d in (d_k, d_v)]
    with torch.no_grad():
        memory, step = Encode(model)(src), DecodeStep(model)
        expected = model(src, tgt)
        for place in range(5):
            logits, *past = step(tgt[:, place : place + 1], src, *memory, *past)
            torch.testing.assert_close(logits, expected[:, place])


def test_special_tokens_in_a_text_are_text(folders: Path, hugging_face: tuple[Any, Any]) -> None:
    from tokenizers import Tokenizer

    _, vocabulary = load_shipped()
    text = "The <s> dog </s>"
    expected = [*vocabulary.encode(text), vocabulary.eos_id]
    assert hugging_face[0](text)["input_ids"] == expected
    for form in ("ctranslate2", "onnx"):
        tokenizer = Tokenizer.from_file(str(folders / form / "tokenizer.json"))
        assert tokenizer.encode(text).ids == expected


def test_the_program_in_the_onnx_folder_has_the_packages_numbers() -> None:
    from annotated_transformer.sharing import greedy_onnx

    assert (Vocabulary.bos_id, Vocabulary.eos_id) == (greedy_onnx.BOS, greedy_onnx.EOS)
    assert (greedy_onnx.MAX_EXTRA, greedy_onnx.PLACES) == (MAX_EXTRA, LONGEST)


def test_every_form_has_a_card_and_can_be_asked_for() -> None:
    parser = build_parser(["export"])
    wanted = ["export", "--run-dir", "a", "--output", "b", "--format"]
    for form in ("folder", *FORMS):
        assert parser.parse_args([*wanted, form]).format == form
    assert {*USES} == {*LIBRARIES} == {"folder", *FORMS}


def test_only_the_package_itself_claims_the_packages_scores() -> None:
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
    score = {"name": "cased", "value": 98.7, "signature": signature}
    report = {"data": "grammar", "split": "test", "beam": 4, "alpha": 0.6, "scores": [score]}
    translator = Translator.from_folder(FOLDER)
    translator.reports = [{**report, "alpha_chosen_on": None, "max_extra": 50}]
    for form in USES:
        card = translator.generate_model_card(form)
        is_ours = form == "folder"
        assert (card.data.eval_results is not None) == is_ours
        assert ("measure the folder itself" in card.text) == (not is_ours)
        assert "98.70" in card.text
        assert ("rounded to 8 bits" in card.text) == (form == "ctranslate2-int8")


def test_a_line_that_is_too_long_costs_the_others_nothing(folders: Path) -> None:
    long = "dog " * 600
    program = folders / "onnx" / "translate.py"
    lines = f"{SENTENCES[0]}\n{long}\n{SENTENCES[1]}\n"
    done = subprocess.run(
        [sys.executable, program], input=lines, capture_output=True, text=True, encoding="utf-8"
    )
    found = ours(1, SENTENCES[:2])
    assert done.stdout.split("\n") == [found[0], "", found[1], ""]
    assert "line 2 is left empty" in done.stderr


# --- what goes wrong ------------------------------------------------------------------------------


def exported(form: str, output: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["export", "--run-dir", str(FOLDER), "--format", form, "--output", str(output)])
    return code, capfd.readouterr().err


@pytest.mark.parametrize(
    ("form", "missing", "told"),
    [
        ("huggingface", "transformers", "pip install transformers"),
        ("ctranslate2", "ctranslate2", "pip install ctranslate2"),
        ("onnx", "onnxscript", "pip install onnx onnxscript"),
    ],
)
def test_what_is_not_installed_is_named(
    form: str,
    missing: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    code, said = exported(form, tmp_path / "new", capfd)
    assert code == 2
    assert told in said
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("kept")
    code, said = exported("ctranslate2", tmp_path, capfd)
    assert code == 2
    assert "nothing is overwritten" in said
    assert os.listdir(tmp_path) == ["mine"]


def test_a_model_with_later_parts_is_refused(tmp_path: Path) -> None:
    from annotated_transformer.after.build import build_transformer
    from annotated_transformer.after.config import LaterConfig
    from annotated_transformer.errors import CallError
    from annotated_transformer.sharing.in_onnx import onnx_files
    from annotated_transformer.sharing.ports import hugging_face_of

    config = LaterConfig(
        vocab_size=11, d_model=8, d_ff=16, num_heads=2, num_layers=1, network="swiglu"
    )
    for export in (lambda model: onnx_files(model, tmp_path), hugging_face_of):
        with pytest.raises(CallError, match="take another run"):
            export(build_transformer(config))


# --- translate --engine ctranslate2 ---------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> CTranslate2Engine:
    return CTranslate2Engine(*load_shipped(), "float32")


@pytest.mark.parametrize("beam", [1, 4])
def test_the_engine_finds_what_our_search_finds(beam: int, engine: CTranslate2Engine) -> None:
    found = engine(SENTENCES, beam_size=beam, alpha=0.0)
    assert agreeing([best.text for [best] in found], beam) >= (200 if beam == 1 else 198)


def test_its_translations_carry_our_log_probabilities(engine: CTranslate2Engine) -> None:
    own = nbest_translations(*load_shipped(), SENTENCES[:20], beam_size=4, alpha=0.0, nbest=2)
    for alpha in (0.0, 1.0):
        found = engine(SENTENCES[:20], beam_size=4, alpha=alpha, nbest=2)
        known = {one.tokens: one.log_probability for two in own for one in two}
        met = [one for two in found for one in two if one.tokens in known]
        assert len(met) > 30
        for one in met:
            assert one.log_probability == pytest.approx(known[one.tokens], abs=2e-3)
            assert one.score == pytest.approx(
                one.log_probability / (len(one.tokens) - 1) ** alpha, abs=2e-3
            )


def test_lines_keep_their_places_and_empty_ones_stay_empty(
    engine: CTranslate2Engine, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["", SENTENCES[1], "  ", "dog " * 2000, SENTENCES[0]]
    with caplog.at_level(logging.WARNING):
        found = engine(lines, beam_size=1, first_line=7)
    long = "The dog sees " + "the old dog and " * 150 + "the cat."  # of more than 512 tokens
    assert engine([long, lines[1]], beam_size=1)[1][0].text == found[1][0].text
    assert [bool(one) for one in found] == [False, True, False, False, True]
    assert [found[1][0].text, found[4][0].text] == ours(1, [SENTENCES[1], SENTENCES[0]])
    assert "line 10" in caplog.text
    assert engine(["", " "]) == [[], []]


def test_a_beginning_is_kept(engine: CTranslate2Engine) -> None:
    [[best]] = engine(["The old woman reads the book."], beam_size=4, prefix="Die alte")
    assert best.text.startswith("Die alte")
    [[own]] = nbest_translations(
        *load_shipped(),
        ["The old woman reads the book."],
        beam_size=4,
        alpha=0.0,
        prefix="Die alte",
    )
    assert best.text == own.text
    assert best.log_probability > own.log_probability  # of what follows the prefix alone


def test_the_command_takes_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, output = tmp_path / "in.txt", tmp_path / "out.txt"
    given.write_text("\n".join(SENTENCES[:5]) + "\n", "utf-8")
    call = ["translate", "--engine", "ctranslate2", "--beam", "1", "--input", str(given)]
    assert main([*call, "--output", str(output)]) == 0
    assert output.read_text("utf-8").splitlines() == ours(1, SENTENCES[:5])
    capfd.readouterr()
    assert main([*call[:5], "--format", "json", "A dog."]) == 0
    assert json.loads(capfd.readouterr().out)["engine"] == "ctranslate2"
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert main([*call[:-2], "A dog."]) == 2
    assert "pip install ctranslate2" in capfd.readouterr().err
