"""`translate`: sentences of the call, of a pipe and of files; nothing lost, nothing twice."""

import errno
import gzip
import io
import json
import re
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.cli import main
from annotated_transformer.cli import sentences as sentences_module
from annotated_transformer.cli.line_output import lock, state_of
from annotated_transformer.cli.sentences import COMPLAINTS, Sentences
from annotated_transformer.data import TRAVELLING_SENTENCE
from annotated_transformer.errors import WorkError
from annotated_transformer.evaluation.translation import Translation, nbest_translations
from sampling import one_in
from toy_run import write_corpus, write_run

SENTENCES = ["two dogs run .", "a dog", "", "two dogs run . a dog runs .", "dog"]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translate")
    return write_run(folder / "run", write_corpus(folder / "corpus"))


@pytest.fixture
def typed(monkeypatch):
    """Put bytes on standard input."""

    def put(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


def test_sentences_of_the_call(run_dir, capsys):
    assert main(["translate", "--run-dir", str(run_dir), *SENTENCES]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == len(SENTENCES)
    assert captured.out.splitlines()[2] == ""


def test_standard_input_line_by_line_and_an_empty_line_stays_empty(run_dir, capsys, typed):
    typed("two dogs run .\r\n\nUnbekanntes Wörtchen!\n".encode())
    assert main(["translate", "--run-dir", str(run_dir)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1] == ""
    assert lines[0]


@pytest.mark.parametrize("options", [[], ["--format", "json"], ["--format", "jsonl"]])
def test_a_line_that_is_not_utf_8_is_named_and_stays_empty_and_the_rest_goes_on(
    run_dir, capsys, typed, options
):
    call = ["translate", "--run-dir", str(run_dir), *options]
    typed(b"a dog .\n\n\ntwo dogs run .\n")
    assert main(call) == 0
    good = capsys.readouterr().out
    typed(b"a dog .\n\nl\xe4uft\ntwo dogs run .\n")
    assert main(call) == 2
    said = capsys.readouterr()
    assert said.out == good
    assert "line 3 of standard input is not UTF-8 (invalid continuation byte at byte 2" in said.err
    assert "1 line could not be read (text has to be UTF-8" in said.err
    assert "left empty; the others are translated" in said.err


def test_beam_and_alpha_reach_the_search(run_dir, capsys, monkeypatch):
    asked = []

    def search(model, vocabulary, lines, *, progress, **settings):
        asked.append(settings)
        return [[] for _ in lines]

    monkeypatch.setattr("annotated_transformer.cli.search.nbest_translations", search)
    options = ["--beam", "7", "--alpha", "1.1", "--max-extra", "9", "--nbest", "2"]
    call = ["translate", "--run-dir", str(run_dir), *options, "--prefix", "ein", "a dog"]
    assert main(call) == 2  # nothing is found
    sizes = {"beam_size": 7, "alpha": 1.1, "max_extra": 9, "nbest": 2}
    assert asked == [{**sizes, "first_line": 1, "prefix": "ein"}]


def test_several_translations_have_number_score_and_text(run_dir, capsys):
    assert main(["translate", "--run-dir", str(run_dir), "--nbest", "2", "a dog", "dog"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert float(rows[0][1]) >= float(rows[1][1])


def test_attention_comes_as_one_json_object(run_dir, capsys):
    assert main(["translate", "--run-dir", str(run_dir), "--attention", "a dog", ""]) == 0
    report = json.loads(capsys.readouterr().out)
    first, empty = report["translations"]
    attention = first["attention"]
    assert len(attention["weights"][0][0]) == len(attention["target"])
    assert empty == {"source": "", "hypotheses": [], "attention": None}


@pytest.mark.parametrize(
    "options",
    [
        *(["--beam", value] for value in ("0", "2000000", "9" * 20)),
        *(["--alpha", value] for value in ("-1", "1e9", "nan", "inf")),
        *(["--threads", value] for value in ("0", "99999999999", "9" * 20)),
        ["--nbest", "many"],
    ],
)
def test_a_search_without_meaning_is_a_wrong_call(run_dir, options, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["translate", "--run-dir", str(run_dir), *options, "a dog"])
    assert stopped.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_a_folder_without_a_run_is_a_sentence(tmp_path, capsys):
    assert main(["translate", "--run-dir", str(tmp_path), "a dog"]) == 2
    assert "holds no run" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--nbest", "2"], ["--attention"]])
def test_json_written_as_it_comes_is_one_indented_object(run_dir, capsys, typed, few, options):
    typed("".join(line + "\n" for line in SENTENCES).encode())
    call = ["translate", "--run-dir", str(run_dir), "--format", "json", *options]
    assert main(call) == 0
    out = capsys.readouterr().out
    report = json.loads(out)
    assert out == json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    asked = {"engine": "own", "beam": 4, "alpha": 0.6, "max_extra": 50}
    assert {name: report[name] for name in asked} == asked
    assert [one["source"] for one in report["translations"]] == SENTENCES


def test_jsonl_is_one_object_a_sentence(run_dir, capsys):
    assert main(["translate", "--run-dir", str(run_dir), "--format", "json", *SENTENCES]) == 0
    expected = json.loads(capsys.readouterr().out)["translations"]
    assert main(["translate", "--run-dir", str(run_dir), "--format", "jsonl", *SENTENCES]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == expected


def test_without_a_run_the_shipped_model_translates_and_says_so(capsys):
    assert main(["translate", TRAVELLING_SENTENCE.source]) == 0
    said = capsys.readouterr()
    assert said.out == TRAVELLING_SENTENCE.target + "\n"
    assert "the small model that comes with the package" in said.err


def test_an_end_of_line_inside_a_translation_makes_no_second_line(run_dir, capsys, monkeypatch):
    found = [[Translation("eins\nzwei\r", 0.0, 0.0, (1, 2))]]
    monkeypatch.setattr(
        "annotated_transformer.cli.search.nbest_translations", lambda *_, **__: found
    )
    assert main(["translate", "--run-dir", str(run_dir), "a dog"]) == 0
    assert capsys.readouterr().out == "eins zwei \n"


# Lines that come in


def lines_of(data: bytes, **options) -> list[str]:
    sentences = Sentences(io.BytesIO(data), "it", live=False)
    return [line for chunk in sentences.chunks(**options) for line in chunk]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=["Cs"]))))
def test_lines_end_at_newlines_alone(lines):
    assert lines_of("".join(line + "\n" for line in lines).encode()) == lines
    if lines and lines[-1]:
        assert lines_of("\n".join(lines).encode()) == lines  # the last without its newline


def test_blocks_do_not_cut_lines(monkeypatch):
    data = "".join(f"{'ä' * (i % 7)}{i}\r\n" for i in range(50)).encode()
    whole = lines_of(data)
    monkeypatch.setattr(sentences_module, "BLOCK", 3)
    assert lines_of(data) == whole == [f"{'ä' * (i % 7)}{i}" for i in range(50)]


def test_a_byte_order_mark_is_no_text():
    assert lines_of("\ufeffa\nb\ufeff\n".encode()) == ["a", "b\ufeff"]


def test_lines_far_too_long_are_named_and_never_held(monkeypatch, capsys):
    monkeypatch.setattr(sentences_module, "LONGEST_LINE", 10)
    monkeypatch.setattr(sentences_module, "BLOCK", 4)
    sentences = Sentences(io.BytesIO(b"a\n" + b"x" * 999 + b"\n0123456789\nb\n"), "it", live=False)
    assert list(sentences.chunks()) == [["a", "", "0123456789", "b"]]
    assert "line 2 of it is longer than 10 bytes: it stays empty" in capsys.readouterr().err
    assert sentences.left_empty == 1


def test_a_line_of_too_many_tokens_stays_empty_and_the_call_says_so(run_dir, capsys, caplog, files):
    source, output = files
    source.write_text("a dog\n" + "dog " * 2000 + "\n\ndog\n", "utf-8")
    call = ["--run-dir", str(run_dir), "--input", str(source), "--output", str(output)]
    assert main(["translate", *call]) == 2
    said = capsys.readouterr().err
    assert "1 line could not be translated (break long lines into sentences" in said
    assert "left empty; the others are translated" in said
    assert "line 2 has 2001 tokens and at most 1024 can be translated" in caplog.text
    lines = output.read_text("utf-8").split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, False]


def test_what_could_not_be_read_and_what_could_not_be_translated_are_both_said(
    run_dir, capsys, files
):
    files[0].write_bytes(b"a dog\n" + b"dog " * 2000 + b"\nl\xe4uft\n")
    assert main(["translate", "--run-dir", str(run_dir), "--input", str(files[0])]) == 2
    said = capsys.readouterr().err
    assert "1 line could not be read" in said
    assert "1 line could not be translated" in said


def test_a_line_too_short_for_the_prefix_stays_empty_and_the_rest_goes_on(
    run_dir, capsys, caplog, files
):
    source, output = files
    source.write_text("dog\n" + "dog " * 40 + "\n", "utf-8")
    call = ["--run-dir", str(run_dir), "--input", str(source), "--output", str(output)]
    assert main(["translate", *call, "--prefix", "Hund " * 60]) == 2
    assert re.search(r"line 1: its translation may have 5\d tokens and the prefix has", caplog.text)
    assert "1 line could not be translated" in capsys.readouterr().err
    first, second = output.read_text("utf-8").splitlines()
    assert first == ""
    assert second.startswith("Hund Hund")


def test_of_many_unreadable_lines_the_first_are_named_and_the_others_counted(capsys):
    sentences = Sentences(io.BytesIO(b"\xe4\n" * 500), "it", live=False)
    assert list(sentences.chunks()) == [[""] * 500]
    assert len(capsys.readouterr().err.splitlines()) == COMPLAINTS + 1
    assert sentences.left_empty == 500


def test_unreadable_lines_that_an_earlier_call_named_are_only_counted(capsys):
    sentences = Sentences(io.BytesIO(b"\xe4\na\nb\n\xf6\n"), "it", live=False)
    skipped: list[list[str]] = []
    assert list(sentences.chunks(skip=2, skipped=skipped.append)) == [["b", ""]]
    assert skipped == [["", "a"]]
    assert re.findall(r"^line (\d+) of it", capsys.readouterr().err, re.M) == ["4"]
    assert sentences.left_empty == 2


def test_a_line_typed_is_answered_before_the_next_is_typed(run_dir):
    """Through a pipe, as by a program that waits for the answer."""
    command = [sys.executable, "-m", "annotated_transformer.cli", "translate", "--threads", "1"]
    with subprocess.Popen(
        [*command, "--run-dir", str(run_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        for line in (b"a dog\n", b"\n", b"two dogs run .\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().endswith(b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_where_a_system_cannot_wait_for_input_each_typed_line_is_a_chunk(monkeypatch):
    def select(*given):
        raise OSError("only sockets")

    monkeypatch.setattr("select.select", select)
    for is_typed, chunks in ((True, [["a"], ["b"]]), (False, [["a", "b"]])):
        typed_lines = Typed(b"a\nb\n", is_typed)
        assert list(Sentences(typed_lines, "it", live=True).chunks()) == chunks


class Typed(io.BytesIO):
    """A line at a time, as a terminal gives them."""

    def __init__(self, data: bytes, is_typed: bool) -> None:
        super().__init__(data)
        self.is_typed = is_typed

    def isatty(self) -> bool:
        return self.is_typed

    def read1(self, size: int = -1) -> bytes:
        return self.readline()


# Files


@pytest.fixture
def few(monkeypatch):
    """Chunks of three lines."""
    for module in ("sentences", "translate_run"):
        monkeypatch.setattr(f"annotated_transformer.cli.{module}.LINES_AT_ONCE", 3)


@pytest.fixture
def files(tmp_path):
    """An input of ten lines and the name of an output."""
    lines = [
        " ".join([["two", "dogs", "run", ".", "a", "dog", "runs", "."][i % 5]] * (i % 4))
        for i in range(10)
    ]
    (tmp_path / "in.en").write_text("".join(line + "\n" for line in lines), "utf-8")
    return tmp_path / "in.en", tmp_path / "out.de"


@pytest.fixture
def call(run_dir, files):
    """The command from file to file. Returns its exit status."""

    def translate(*options: str) -> int:
        source, output = map(str, files)
        run = ["--run-dir", str(run_dir), "--input", source, "--output", output]
        return main(["translate", *run, *options])

    return translate


@pytest.fixture
def whole(call, files, few):
    """What the output is without any break."""
    assert call() == 0
    content = files[1].read_bytes()
    files[1].unlink()
    return content


@pytest.fixture
def broken(monkeypatch):
    """Let the search of the chunk that begins with a line break off."""

    def at(first_line: int, error: BaseException) -> None:
        def search(*given, first_line: int, **options):
            if first_line == at.line:
                raise error
            return nbest_translations(*given, first_line=first_line, **options)

        at.line = first_line
        monkeypatch.setattr("annotated_transformer.cli.search.nbest_translations", search)

    return at


def test_a_file_is_translated_as_a_pipe_is(run_dir, capsys, typed, files, whole):
    source, _ = files
    typed(source.read_bytes())
    assert main(["translate", "--run-dir", str(run_dir)]) == 0
    assert capsys.readouterr().out.encode() == whole
    assert whole.count(b"\n") == 10


def test_a_gzipped_input_is_unpacked(run_dir, files, whole):
    source, output = files
    packed = source.with_name("in.en.gz")
    packed.write_bytes(gzip.compress(source.read_bytes()))
    run = ["--run-dir", str(run_dir), "--input", str(packed), "--output", str(output)]
    assert main(["translate", *run]) == 0
    assert output.read_bytes() == whole


def test_when_all_is_done_only_the_output_lies_there_and_it_is_said(call, files, few, capsys):
    assert call() == 0
    assert sorted(path.name for path in files[0].parent.iterdir()) == ["in.en", "out.de"]
    assert re.search(r"10 lines in \S+ s, written to .*out\.de", capsys.readouterr().err)


def test_a_call_that_finds_everything_done_says_so(call, files, whole, broken, monkeypatch, capsys):
    begun(call, files, broken, monkeypatch, whole)
    capsys.readouterr()
    assert call("--resume") == 0
    assert re.search(r"nothing was left to do: .*out\.de has 10 lines", capsys.readouterr().err)


@pytest.mark.parametrize("line", [4, 10])
@pytest.mark.parametrize("error", [WorkError("broken"), KeyboardInterrupt()])
def test_a_broken_call_is_gone_on_with(
    call, files, whole, broken, monkeypatch, capsys, line, error
):
    output = files[1]
    broken(line, error)
    assert call() == 1
    assert "the same call with --resume goes on" in capsys.readouterr().err
    assert output.read_bytes() == b"".join(whole.splitlines(True)[: line - 1])
    broken(0, error)  # no line has this number
    assert call() == 2  # not without --resume
    assert call("--resume") == 0
    assert output.read_bytes() == whole
    assert not state_of(output).exists()


def begun(call, files, broken, monkeypatch, content: bytes) -> None:
    """An output as a killed call leaves it."""
    broken(7, WorkError("broken"))
    assert call() == 1
    files[1].write_bytes(content)
    broken(0, WorkError("no line has this number"))


CUTS = [*range(0, 12), 20, 33, -8, -1, None]


@pytest.mark.parametrize("cut", one_in(4, CUTS))
def test_wherever_the_output_was_cut_off_nothing_is_lost_and_nothing_twice(
    call, files, whole, broken, monkeypatch, cut
):
    begun(call, files, broken, monkeypatch, whole[:cut])
    assert call("--resume") == 0
    assert files[1].read_bytes() == whole
    assert not state_of(files[1]).exists()


def test_a_half_written_line_leaves_nothing_behind(call, files, whole, broken, monkeypatch):
    begun(
        call,
        files,
        broken,
        monkeypatch,
        b"".join(whole.splitlines(True)[:4]) + b"x" * (2 * len(whole)),
    )
    assert call("--resume") == 0
    assert files[1].read_bytes() == whole


def test_what_was_translated_is_not_translated_again(call, files, whole, broken, monkeypatch):
    begun(call, files, broken, monkeypatch, b"".join(whole.splitlines(True)[:8]) + b"half")
    asked = []

    def search(model, vocabulary, lines, *, first_line, **options):
        asked.append((first_line, len(lines)))
        return [[] for _ in lines]

    monkeypatch.setattr("annotated_transformer.cli.search.nbest_translations", search)
    assert call("--resume") == 2  # for that search finds nothing
    assert asked == [(7, 3), (10, 1)]  # the chunk of lines 7 to 9 was not whole
    assert files[1].read_bytes().splitlines(True)[:6] == whole.splitlines(True)[:6]


def test_a_resumed_call_counts_what_the_broken_one_left_empty(
    call, files, few, broken, monkeypatch
):
    """The verdict on the whole file is that of the call in one piece."""
    lines = files[0].read_text("utf-8").splitlines()
    lines[1] = "dog " * 2000  # in the first chunk, which the broken call has written
    files[0].write_text("".join(line + "\n" for line in lines), "utf-8")
    assert call() == 2
    whole = files[1].read_bytes()
    files[1].unlink()
    begun(call, files, broken, monkeypatch, b"".join(whole.splitlines(True)[:4]))
    assert call("--resume") == 2
    assert files[1].read_bytes() == whole


def test_resuming_with_another_size_of_chunk_is_refused(
    call, files, whole, broken, monkeypatch, capsys
):
    """A chunk is translated as one, so the lines would not be those of one call."""
    begun(call, files, broken, monkeypatch, b"".join(whole.splitlines(True)[:4]))
    for module in ("translate_run", "sentences"):
        monkeypatch.setattr(f"annotated_transformer.cli.{module}.LINES_AT_ONCE", 2)
    assert call("--resume") == 2
    assert "was begun with another chunk" in capsys.readouterr().err


def test_resuming_what_was_never_begun_begins(call, files, whole):
    assert call("--resume") == 0
    assert files[1].read_bytes() == whole


def test_resuming_what_is_done_changes_nothing(call, files, whole, capsys):
    files[1].write_bytes(whole)
    assert call("--resume") == 0
    assert files[1].read_bytes() == whole
    said = capsys.readouterr().err
    assert "as many lines as the input, 10, and is left as it is" in said
    assert "nothing was left to do" not in said  # whether the lines are ours is not known


def test_an_output_that_is_there_is_not_overwritten(call, files, capsys):
    files[1].write_text("precious\n")
    assert call() == 2
    assert "nothing is overwritten: name another file, or delete it" in capsys.readouterr().err
    assert call("--resume") == 2
    assert "no out.de.resume.json beside it says of what its 1 lines" in capsys.readouterr().err
    assert files[1].read_text() == "precious\n"


def test_a_file_begun_before_there_was_a_limit_to_choose_goes_on(
    call, files, whole, broken, monkeypatch, capsys
):
    begun(call, files, broken, monkeypatch, whole[:5])
    state = files[1].with_name("out.de.resume.json")
    about = json.loads(state.read_text("utf-8"))
    del about["max_extra"]
    state.write_text(json.dumps(about), "utf-8")
    assert call("--resume", "--max-extra", "10") == 2
    assert "another max extra (50, now 10)" in capsys.readouterr().err
    assert call("--resume") == 0
    assert files[1].read_bytes() == whole


def test_two_calls_do_not_write_one_file(call, files, whole, broken, monkeypatch, capsys):
    begun(call, files, broken, monkeypatch, whole[:5])
    with files[1].open("ab") as theirs:
        lock(theirs, files[1])
        assert call("--resume") == 2
    assert "another call is writing" in capsys.readouterr().err
    assert files[1].read_bytes() == whole[:5]
    assert call("--resume") == 0
    assert files[1].read_bytes() == whole


def test_two_calls_that_cannot_be_continued_do_not_write_one_file_either(
    run_dir, typed, files, monkeypatch, capsys
):
    """Standard input cannot be read again, so no note lies beside the output."""
    to_file = ["translate", "--run-dir", str(run_dir), "--output", str(files[1])]
    with files[1].open("ab") as theirs:
        lock(theirs, files[1])
        typed(b"a dog\n")
        assert main(to_file) == 2
    assert "another call is writing" in capsys.readouterr().err
    assert files[1].read_bytes() == b""
    typed(b"a dog\n")
    assert main(to_file) == 0
    assert files[1].read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("option", [(), ("--resume",)])
def test_what_another_call_wrote_between_the_look_and_the_lock_stays(
    call, files, few, monkeypatch, capsys, option
):
    def lock_late(file, path) -> None:
        path.write_bytes(b"theirs\n")
        lock(file, path)

    monkeypatch.setattr("annotated_transformer.cli.line_output.lock", lock_late)
    assert call(*option) == 2
    assert "another call has written" in capsys.readouterr().err
    assert files[1].read_bytes() == b"theirs\n"


def test_where_files_cannot_be_locked_one_call_writes_as_ever(call, files, whole, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    assert call() == 0
    assert files[1].read_bytes() == whole


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--beam", "2"], "another beam (4, now 2)"),
        (["--prefix", "zwei"], "another prefix (, now zwei)"),
        (["--alpha", "0"], "another alpha (0.6, now 0.0)"),
        (["--max-extra", "10"], "another max extra (50, now 10)"),
        (["--format", "jsonl"], "another format (text, now jsonl)"),
    ],
)
def test_nothing_is_appended_with_other_options(
    call, files, whole, broken, monkeypatch, capsys, options, named
):
    begun(call, files, broken, monkeypatch, whole[:5])
    assert call("--resume", *options) == 2
    assert named in capsys.readouterr().err
    assert files[1].read_bytes() == whole[:5]


def test_nothing_is_appended_with_or_without_attention(
    call, files, few, broken, monkeypatch, capsys
):
    broken(7, WorkError("broken"))
    assert call("--format", "jsonl") == 1
    there = files[1].read_bytes()
    broken(0, WorkError("no line has this number"))
    assert call("--format", "jsonl", "--attention", "--resume") == 2
    assert "another attention (False, now True)" in capsys.readouterr().err
    assert files[1].read_bytes() == there


@pytest.mark.parametrize("change", [lambda text: text[:4], lambda text: text.replace("o", "u")])
def test_nothing_is_appended_of_another_input(
    call, files, whole, broken, monkeypatch, capsys, change
):
    begun(call, files, broken, monkeypatch, whole[:5])
    files[0].write_text(change(files[0].read_text()))
    assert call("--resume") == 2
    assert "was begun with another input, so nothing is appended" in capsys.readouterr().err
    assert files[1].read_bytes() == whole[:5]


def test_nothing_is_appended_by_another_model(
    call, files, whole, broken, monkeypatch, capsys, tmp_path
):
    begun(call, files, broken, monkeypatch, whole[:5])
    other = write_run(tmp_path / "other", tmp_path, num_layers=1)
    assert call("--resume", "--run-dir", str(other)) == 2
    assert "was begun with another model, so nothing" in capsys.readouterr().err


def test_a_damaged_note_of_the_broken_call_is_a_sentence(
    call, files, whole, broken, monkeypatch, capsys
):
    begun(call, files, broken, monkeypatch, whole[:5])
    state_of(files[1]).write_text("{")
    assert call("--resume") == 1
    assert "is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--format", "jsonl", "--nbest", "2"]])
def test_lines_that_cannot_be_read_keep_their_place_in_the_file(call, files, few, capsys, options):
    source, output = files
    lines = source.read_bytes().splitlines(True)
    lines[4] = b"l\xe4uft\n"
    source.write_bytes(b"".join(lines))
    assert call(*options) == 2
    assert "line 5 of " in capsys.readouterr().err
    assert output.read_bytes().count(b"\n") == 10
    assert not state_of(output).exists()  # it is complete all the same


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["a dog"], "sentences were given and --input too"),
        (["--resume", "--format", "json"], "--resume counts lines"),
        (["--resume", "--nbest", "2"], "--resume counts lines"),
        (["--picture", "x.png"], "--picture draws one sentence"),
        (["--input", "missing.en"], "there is no file missing.en"),
        (["--input", "."], ". is a folder"),
    ],
)
def test_options_that_contradict_each_other_are_a_sentence(call, capsys, options, complaint):
    assert call(*options) == 2
    assert complaint in capsys.readouterr().err


def test_the_output_is_not_the_input(run_dir, files, capsys):
    text = files[0].read_bytes()
    same = ["--input", str(files[0]), "--output", str(files[0])]
    assert main(["translate", "--run-dir", str(run_dir), *same]) == 2
    assert "--output is the --input" in capsys.readouterr().err
    assert files[0].read_bytes() == text


def test_a_file_where_a_sentence_is_expected_is_pointed_at(run_dir, files, capsys):
    assert main(["translate", "--run-dir", str(run_dir), str(files[0])]) == 0
    assert f"--input {files[0]} translates its lines" in capsys.readouterr().err
    assert main(["translate", "--run-dir", str(run_dir), "a dog"]) == 0
    assert "--input" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--beam", "x"], "'x' was given, and a whole number from 1 to 100 is expected"),
        (["--beam", "0"], "0 was given, and a whole number from 1 to 100 is expected"),
        (["--alpha", "long"], "'long' was given, and a number from 0 to 100 is expected"),
        (["--alpha", "-1"], "-1 was given, and a number from 0 to 100 is expected"),
        (["--nbest", "1.5"], "'1.5' was given, and a whole number of at least 1 is expected"),
    ],
)
def test_a_number_that_is_none_is_a_sentence(capsys, options, complaint):
    with pytest.raises(SystemExit) as ended:
        main(["translate", *options, "a dog"])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_resuming_needs_files(run_dir, capsys):
    assert main(["translate", "--run-dir", str(run_dir), "--resume", "a dog"]) == 2
    assert "it needs --input and --output" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_a_sentence(call, tmp_path, capsys):
    assert call("--output", str(tmp_path / "missing" / "out.de")) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert call("--output", str(tmp_path)) == 1
    assert "cannot be written: Is a directory" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.en"]


def test_progress_is_written_now_and_then_into_a_log(call, few, monkeypatch, capsys):
    monkeypatch.setattr(sentences_module, "SAY_EVERY", 0.0)
    assert call() == 0
    said = re.findall(
        r"^([\d,]+) of 10 lines, \S+ a second, \d+:\d\d left$", capsys.readouterr().err, re.M
    )
    assert said
    assert [int(number) for number in said] == sorted(int(number) for number in said)


@pytest.mark.slow
@pytest.mark.slow
def test_ten_thousand_lines_survive_being_killed_in_the_middle(run_dir, tmp_path):
    """In order, nothing lost, nothing twice."""
    words = ["a", "dog", "runs", ".", "two", "dogs", "run"]
    lines = [" ".join(words[(i + j) % 7] for j in range(1 + i % 4)) for i in range(10_000)]
    source, output, alone = (tmp_path / name for name in ("in.en", "out.de", "alone.de"))
    source.write_text("".join(line + "\n" for line in lines), "utf-8")
    program = [sys.executable, "-m", "annotated_transformer.cli", "translate", "--threads", "1"]
    command = [*program, "--beam", "1", "--run-dir", str(run_dir), "--input", str(source)]
    subprocess.run([*command, "--output", str(alone)], check=True, capture_output=True)
    kills = 0
    while True:
        before = output.stat().st_size if output.exists() else 0
        resume = ["--output", str(output), "--resume"]
        process = subprocess.Popen([*command, *resume], stderr=subprocess.DEVNULL)
        while process.poll() is None and kills < 2:
            time.sleep(0.05)
            if output.exists() and output.stat().st_size > before:
                process.kill()  # kill -9
                kills += 1
                break
        if process.wait() == 0:
            break
    assert kills == 2
    assert output.read_bytes() == alone.read_bytes()
    assert output.read_bytes().count(b"\n") == 10_000
    # A sentence has one translation wherever it stands: the lines are in order.
    pairs = set(zip(lines, output.read_text("utf-8").split("\n")[:-1], strict=True))
    assert len(pairs) == len(set(lines))


# A picture


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_attention_of_a_sentence_is_drawn(run_dir, capsys, tmp_path, ending):
    path = tmp_path / f"weights.{ending}"
    assert main(["translate", "--run-dir", str(run_dir), "two dogs run ."]) == 0
    translated = capsys.readouterr().out
    assert (
        main(["translate", "--run-dir", str(run_dir), "--picture", str(path), "two dogs run ."])
        == 0
    )
    assert capsys.readouterr().out == translated
    begins = {"png": b"\x89PNG", "svg": b"<?xml"}
    assert path.read_bytes().startswith(begins[ending])


def test_what_is_drawn_are_the_weights_of_the_last_layer(run_dir, monkeypatch, tmp_path, capsys):
    drawn = []

    def draw_weights(weights, queries, keys, titles, *others, **options):
        drawn.append((weights, queries, keys, titles))

    monkeypatch.setattr("annotated_transformer.figures.draw_weights", draw_weights)
    sentence = "two dogs run ."
    path = str(tmp_path / "weights.png")
    assert main(["translate", "--run-dir", str(run_dir), "--attention", sentence]) == 0
    [one] = json.loads(capsys.readouterr().out)["translations"]
    assert main(["translate", "--run-dir", str(run_dir), "--picture", path, sentence]) == 0
    attention = one["attention"]
    titles = ["layer 2, head 1", "layer 2, head 2"]
    assert drawn == [(attention["weights"][-1], attention["target"], attention["source"], titles)]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["weights.txt", "a dog"], "expected a name that ends in .png, .svg, .pdf"),
        (["weights.png", "a dog", "dog"], "--picture draws one sentence"),
        (["weights.png"], "--picture draws one sentence"),
        (["weights.png", "--attention", "a dog"], "--picture goes without"),
        (["weights.png", " "], "there is nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(run_dir, capsys, given, complaint):
    assert main(["translate", "--run-dir", str(run_dir), "--picture", *given]) == 2
    assert complaint in capsys.readouterr().err
