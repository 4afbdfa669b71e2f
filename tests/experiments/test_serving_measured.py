"""Latency and throughput: what is counted, and that the record holds what is shown."""

import torch

from annotated_transformer.experiments import serving_measured as serving


def test_batches_hold_every_row_once() -> None:
    rows = [[n, n + 1][: 1 + n % 2] for n in range(3, 10)]
    batches = serving.batches_of(rows, 3)
    assert [len(batch) for batch in batches] == [3, 3, 1]
    found = [row[row != 0].tolist() for batch in batches for row in batch]
    assert found == rows


def test_each_way_is_measured() -> None:
    torch.set_num_threads(1)
    found = serving.measure_batches(sentences=4, rounds=1, sizes=(1, 4))
    assert list(found) == ["cache 1", "cache 4", "no cache 1", "no cache 4"]
    for one in found.values():
        assert one["milliseconds"] > 0
        assert one["sentences_per_second"] > 0
    of_lengths = serving.measure_lengths(lengths=(17, 20), rounds=1)
    assert {len(times) for times in of_lengths.values()} == {2}


def test_the_record_holds_every_way() -> None:
    record = serving.load_record()
    assert list(record["batches"]) == [
        f"{name} {size}" for name in ("cache", "no cache") for size in serving.BATCHES
    ]
    assert record["lengths"] == list(serving.LENGTHS)
    for times in record["milliseconds_a_token"].values():
        assert len(times) == len(serving.LENGTHS)
