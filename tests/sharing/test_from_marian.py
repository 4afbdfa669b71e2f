"""A Marian model that was imported is what it was: the same pieces, logits and translations."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import transformers

from annotated_transformer.cli import main
from annotated_transformer.data import Vocabulary, generate_corpus
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.translation import source_ids, translate_sentences
from annotated_transformer.sharing.from_marian import read_vocabulary
from annotated_transformer.training import RunDirectory, TrainingConfig, load_run
from annotated_transformer.training.trainer import build_model
from toy_run import write_corpus

SENTENCES = [*generate_corpus()["valid"].source[:40], "Ünïcode ﬁne…  twice", "日本 dogs?"]
PIECES = 300
LANGUAGES = ("--source", "en", "--target", "de")


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as those of OPUS-MT, with drawn weights; made by the libraries that make them."""
    folder = tmp_path_factory.mktemp("marian") / "opus-mt-toy"
    folder.mkdir()
    corpus, pieces = generate_corpus()["train"], dict[str, None]()
    for side, lines in (("source", corpus.source[:2000]), ("target", corpus.target[:2000])):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=str(folder / side),
            vocab_size=PIECES,
            minloglevel=2,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        read = sentencepiece.SentencePieceProcessor(str(folder / f"{side}.spm"))
        pieces |= dict.fromkeys(read.id_to_piece(number) for number in range(3, PIECES))
    vocabulary = {name: n for n, name in enumerate(("</s>", "<unk>", *pieces, "<pad>"))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    torch.manual_seed(1)
    size = len(vocabulary)
    model = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=size,
            d_model=32,
            encoder_layers=2,
            decoder_layers=3,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            activation_function="swish",
            max_position_embeddings=128,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            pad_token_id=size - 1,
            eos_token_id=0,
            decoder_start_token_id=size - 1,
            forced_eos_token_id=None,
            init_std=0.3,
        )
    )
    with torch.no_grad():
        model.final_logits_bias.normal_(std=0.5)
        model.final_logits_bias[0, size - 1] = float("-inf")
        for parameter in model.parameters():
            if parameter.dim() == 1 and parameter.requires_grad:
                parameter += 0.2 * torch.randn_like(parameter)  # no bias stays 0, no gain 1
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def run_dir(marian: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "imported"
    assert main(["import", "--from", str(marian), "--run-dir", str(run), *LANGUAGES]) == 0
    return run


def order_of(marian: Path) -> list[int]:
    """Marian's id of each of ours."""
    config = json.loads((marian / "config.json").read_text("utf-8"))
    return read_vocabulary(marian, config["pad_token_id"], config["eos_token_id"])[1]


def test_sentences_are_cut_as_by_marians_tokenizer(marian: Path, run_dir: Path) -> None:
    tokenizer = transformers.MarianTokenizer(
        str(marian / "source.spm"), str(marian / "target.spm"), str(marian / "vocab.json")
    )
    vocabulary = Vocabulary.load(run_dir / "tokenizer.json")
    order = order_of(marian)
    theirs = tokenizer(SENTENCES)["input_ids"]
    assert [[order[token] for token in row] for row in source_ids(vocabulary, SENTENCES)] == theirs
    for row in theirs[:40]:
        ours = [order.index(token) for token in row]
        assert vocabulary.decode(ours) == tokenizer.decode(row, skip_special_tokens=True)


def test_logits_are_marians(marian: Path, run_dir: Path) -> None:
    theirs = transformers.MarianMTModel.from_pretrained(marian).double().eval()
    ours = load_run(run_dir)[0].double()
    order = torch.tensor(order_of(marian))
    src = torch.randint(4, len(order), (3, 9))
    tgt = torch.cat([torch.full((3, 1), 1), torch.randint(4, len(order), (3, 6))], dim=1)
    with torch.no_grad():
        expected = theirs(input_ids=order[src], decoder_input_ids=order[tgt]).logits
        found = ours(src, tgt)
    torch.testing.assert_close(found[..., 2:], expected[..., order[2:]])


def test_translations_are_marians(marian: Path, run_dir: Path) -> None:
    """Drawn weights write nonsense, and the same nonsense."""
    theirs = transformers.MarianMTModel.from_pretrained(marian).eval()
    model, vocabulary, _ = load_run(run_dir)
    order = order_of(marian)
    for sentence in SENTENCES[:10]:
        [src] = source_ids(vocabulary, [sentence])
        found = theirs.generate(
            torch.tensor([[order[token] for token in src]]),
            num_beams=1,
            do_sample=False,
            max_new_tokens=len(src) + 10,
        )
        written = [order.index(token) for token in found[0, 1:].tolist()]
        [ours] = translate_sentences(
            model, vocabulary, [sentence], beam_size=1, alpha=0.0, max_extra=10
        )
        assert ours == vocabulary.decode(written)


def test_nothing_is_claimed_of_a_training_that_is_not_known(run_dir: Path) -> None:
    assert json.loads((run_dir / "config.json").read_text("utf-8"))["training"] is None
    config = RunDirectory(run_dir).read_config()
    assert config.recipe is None
    with pytest.raises(CallError, match="others trained it, and how is not known"):
        _ = config.training


@pytest.mark.parametrize("call", [["train", "--resume"], ["diagnose"]])
def test_what_needs_the_training_is_refused(
    call: list[str], run_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*call, "--run-dir", str(run_dir)]) == 2
    assert "others trained it, and how is not known. Take a run" in capfd.readouterr().err


def test_a_run_that_an_earlier_version_imported_is_read(run_dir: Path, tmp_path: Path) -> None:
    old = shutil.copytree(run_dir, tmp_path / "old")
    config = json.loads((old / "config.json").read_text("utf-8"))
    config["training"] = TrainingConfig(steps=1).to_dict()
    (old / "config.json").write_text(json.dumps(config), "utf-8")
    assert RunDirectory(old).read_config() == RunDirectory(run_dir).read_config()


def test_it_is_scored_on_a_corpus_that_is_named(
    run_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    call = ["evaluate", "--run-dir", str(run_dir), "--beam", "1", "--explain"]
    assert main(call) == 2
    assert "was imported, so it has no corpus of its own: give the references with --data" in (
        capfd.readouterr().err
    )
    call += ["--data-dir", str(write_corpus(tmp_path / "corpus"))]
    assert main([*call, "--format", "json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert not {"loss", "perplexity", "accuracy"} & report.keys()
    assert report["beam"] == 1
    assert report["lower_case_model"] is None
    assert "averaging" not in str(report["explanation"])
    assert main(call) == 0
    said = capfd.readouterr().out
    assert re.search(r"^perplexity +-   an imported model cuts references as sources$", said, re.M)
    assert re.search(r"^speed ", said, re.M)


def test_commands_take_it(run_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "--run-dir", str(run_dir), "--beam", "1", "A dog sleeps."]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 1
    config = RunDirectory(run_dir).read_config()
    assert config.model.count_parameters() == load_run(run_dir)[0].num_parameters()
    with pytest.raises(CallError, match="models that were imported"):
        build_model(replace(config, recipe=TrainingConfig(steps=1)), torch.device("cpu"))


def test_handed_on_it_says_that_others_trained_it(run_dir: Path, tmp_path: Path) -> None:
    assert main(["export", "--run-dir", str(run_dir), "--output", str(tmp_path / "new")]) == 0
    card = (tmp_path / "new" / "README.md").read_text("utf-8")
    assert "Others trained it" in card
    assert "imported from the Marian model opus-mt-toy" in card
    assert "| training | not known |" in card
    assert translate_sentences(*load_run(tmp_path / "new")[:2], ["A dog."], beam_size=1)


# --- what goes wrong ------------------------------------------------------------------------------


@pytest.fixture
def copy(marian: Path, tmp_path: Path) -> Path:
    return shutil.copytree(marian, tmp_path / "copy")


def imported(folder: Path, run: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["import", "--from", str(folder), "--run-dir", str(run), *LANGUAGES])
    return code, capfd.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "bert", "d_model": None}, "model_type is 'bert', and 'marian'"),
        ({"normalize_before": True}, "normalize_before is True"),
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings is False"),
        ({"activation_function": "tanh"}, "the activation 'tanh' is not known"),
        ({"decoder_ffn_dim": 64}, "encoder and decoder differ in ffn_dim"),
        ({"d_model": 33}, "d_model = 33"),
        ({"d_model": 64}, "model.safetensors"),
        ({"decoder_layers": 2}, "model.safetensors"),
        ({"pad_token_id": 9999}, "padding, the end or <unk> is missing"),
        ({"d_model": "wide"}, "d_model"),
    ],
)
def test_another_model_is_refused(
    change: dict[str, Any],
    said: str,
    copy: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    config = json.loads((copy / "config.json").read_text("utf-8"))
    (copy / "config.json").write_text(json.dumps(config | change), "utf-8")
    code, complaint = imported(copy, tmp_path / "run", capfd)
    assert code == 1
    assert said in complaint
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocab.json", "source.spm"])
def test_damaged_and_missing_files_are_named(
    name: str, copy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = (copy / name).read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"\xff\xfe nonsense"):
        (copy / name).write_bytes(content)
        code, complaint = imported(copy, tmp_path / "run", capfd)
        assert code == 1, content[:9]
        assert name in complaint
    (copy / name).unlink()
    code, complaint = imported(copy, tmp_path / "run", capfd)
    assert code == 2
    assert name in complaint
    assert not (tmp_path / "run").exists()


def test_a_file_that_can_run_code_is_not_opened(
    copy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    code, complaint = imported(copy, tmp_path / "run", capfd)
    assert code == 2
    assert "save it again" in complaint


def test_nothing_is_overwritten_and_what_is_not_installed_is_named(
    marian: Path,
    run_dir: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, complaint = imported(marian, run_dir, capfd)
    assert code == 2
    assert "nothing is overwritten" in complaint
    monkeypatch.setitem(sys.modules, "sentencepiece.sentencepiece_model_pb2", None)
    code, complaint = imported(marian, tmp_path / "run", capfd)
    assert code == 2
    assert "pip install sentencepiece" in complaint
