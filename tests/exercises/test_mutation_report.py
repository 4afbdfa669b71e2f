"""The table of the mutation tests counts what it is given."""

from mutation_report import mutation_table


def test_the_table_counts() -> None:
    lines = mutation_table(
        [
            ("a.one", "accepted", True),
            ("a.one", "rejected", True),
            ("a.one", "rejected", False),
            ("a.one", "named", False),
            ("b.two", "seconds", 0.25),
            ("b.two", "seconds", 0.75),
        ]
    )
    assert [line.split() for line in lines[1:3]] == [
        ["a.one", "1", "of", "1", "1", "of", "2", "0", "of", "1"],
        ["b.two", "0", "of", "0", "0", "of", "0", "0", "of", "0", "0.75", "s"],
    ]
    assert lines[3].startswith("2 exercises")
    assert lines[4] == "a check took 0.50 s in the median"


def test_nothing_observed_is_no_table() -> None:
    assert mutation_table([]) == []
