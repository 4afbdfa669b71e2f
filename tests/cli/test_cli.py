"""What all commands of the program share: how a wrong call is refused."""

import pytest

from annotated_transformer.cli import main


@pytest.mark.parametrize(
    ("call", "command", "said"),
    [
        (["translate", "--bem", "3"], "translate", "no option --bem; did you mean --beam?"),
        (["translate", "--bem=3"], "translate", "no option --bem; did you mean --beam?"),
        (["progress", "--zz"], "progress", "no option --zz; --help lists what there is."),
        (["data", "get", "grammar", "--fromat"], "data get", "did you mean --format?"),
        (["train", "--run-dri", "x"], "train", "no option --run-dri; did you mean --run-dir?"),
        (["export", "--format", "json"], "export", "no option --format; --help lists what there"),
        (["ledger", "check", "a=b"], "ledger check", "'a=b' was given where nothing is expected"),
        (["translate", "A.", "--beam", "2", "B."], "translate", "'B.' was given where nothing"),
        (["translate", "A.", "-Hello", "--zz"], "translate", "there is no option --zz;"),
    ],
)
def test_an_unknown_option_is_refused_by_the_command_that_it_was_given_to(
    call, command, said, capsys
):
    with pytest.raises(SystemExit) as ended:
        main(call)
    assert ended.value.code == 2
    complaint = capsys.readouterr().err
    assert f"usage: annotated-transformer {command} " in complaint
    assert f"annotated-transformer {command}: error: " in complaint
    assert said in complaint


def test_an_unknown_option_before_the_command_is_the_programs(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--versoin", "translate"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "annotated-transformer: error: there is no option --versoin; did you mean --v" in said


def test_what_looks_like_an_option_and_is_none_goes_through(capsys):
    assert main(["translate", "--max", "5", "--prefix=--x", "-- hello", "--", "--bem"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
