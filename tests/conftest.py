"""What every test can ask for: real corpora, where the caller has some."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mutation_report import mutation_table

# Neither chance nor a busy machine decides: the same examples at every run, and no clock. To search
# on with other examples: pytest --hypothesis-profile=default.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--data-dir",
        type=Path,
        default=None,
        help="a folder of real corpora, one folder each (multi30k, ...); tests skip without it",
    )


@pytest.fixture(scope="session")
def corpora_dir(request: pytest.FixtureRequest) -> Path:
    """The folder of real corpora given by ``--data-dir``; skips the test where none was given."""
    folder: Path | None = request.config.getoption("--data-dir")
    if folder is None:
        pytest.skip("needs real corpora: run with --data-dir FOLDER (make test DATA_DIR=FOLDER)")
    if not folder.is_dir():
        pytest.fail(f"--data-dir is {folder}, which is not a folder.")
    return folder.resolve()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After the tests of the exercises: what their checks accepted, rejected and named."""
    observed = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        for name, value in report.user_properties
        if name == "check"
    ]
    if lines := mutation_table(observed):
        terminalreporter.section("the checks of the exercises, tested by mutation")
        for line in lines:
            terminalreporter.line(line)
