"""What all commands of the program share: how a wrong call is refused."""

import pytest

from annotated_transformer.cli import main


@pytest.mark.parametrize(
    ("call", "command", "said"),
    [
        (["translate", "--bem", "3"], "translate", "no option --bem; did you mean --beam?"),
        (["translate", "--bem=3"], "translate", "no option --bem; did you mean --beam?"),
        (["progress", "--zz"], "progress", "no option --zz; --help lists its options."),
        (["data", "get", "grammar", "--fromat"], "data get", "did you mean --format?"),
        (["ledger", "check", "twice"], "ledger check", "'twice' was given and is one argument too"),
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
