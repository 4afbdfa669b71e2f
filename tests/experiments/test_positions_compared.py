"""The small models of chapter 4 do what their names say."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from annotated_transformer.experiments import positions_compared
from annotated_transformer.experiments.positions_compared import (
    ANIMALS,
    WORDS,
    Reader,
    ReaderPositions,
    biter_accuracy,
    right_by_place,
    sentences_to_learn_and_to_test,
    train_word_before,
    word_before,
)
from annotated_transformer.positional import sinusoidal_encoding


def test_word_before_by_hand() -> None:
    words = torch.tensor([[3, 1, 2], [5, 5, 0]])
    assert word_before(words).tolist() == [[3, 3, 1], [5, 5, 5]]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none", "none, causal"])
def test_readers_differ_in_their_positions_alone(positions: ReaderPositions) -> None:
    torch.manual_seed(0)
    reader = Reader(positions, WORDS)
    one, two = torch.tensor([[1, 2, 3]]), torch.tensor([[2, 1, 3]])
    with torch.no_grad():
        same_word, exchanged = reader(one)[0, 0], reader(two)[0, 1]
        last_one, last_two = reader(one)[0, 2], reader(two)[0, 2]
    # Without positions each word has one result, wherever it stands, unless a mask tells.
    assert torch.allclose(same_word, exchanged, atol=1e-5) == (positions == "none")
    # One layer: under a causal mask the last word sees all words, and sums do not know the order.
    assert torch.allclose(last_one, last_two, atol=1e-5) == (positions in ("none", "none, causal"))


def test_the_positions_are_those_of_the_package_and_can_begin_later() -> None:
    reader = Reader("sinusoidal", WORDS)
    words = torch.tensor([[4, 7]])
    with torch.no_grad():
        added = reader.embedding(words, 5) - 32**0.5 * reader.embedding.table(words)
    assert torch.allclose(added[0], sinusoidal_encoding(7, 32)[5:], atol=1e-5)


def test_a_causal_reader_does_not_see_what_follows() -> None:
    reader = Reader("none, causal", WORDS, num_layers=2)
    with torch.no_grad():
        short, long = reader(torch.tensor([[1, 2]])), reader(torch.tensor([[1, 2, 9, 9]]))
    assert torch.allclose(short[0], long[0, :2], atol=1e-5)


def test_pooled_readers_give_one_answer() -> None:
    reader = Reader("none", ANIMALS + 1, pooled=True)
    assert reader(torch.zeros(5, 3, dtype=torch.long)).shape == (5, ANIMALS + 1)


def test_no_pair_is_learned_and_tested() -> None:
    torch.manual_seed(3)
    seen, new = sentences_to_learn_and_to_test()
    pairs_seen, pairs_new = ({frozenset(row) for row in x[:, ::2].tolist()} for x in (seen, new))
    assert not pairs_seen & pairs_new
    assert len(pairs_seen | pairs_new) == ANIMALS * (ANIMALS - 1) // 2
    for x in (seen, new):  # both orders of each
        assert {tuple(row) for row in x.tolist()} == {tuple(row) for row in x.flip(1).tolist()}


def test_without_positions_one_of_two_orders_is_right_at_most() -> None:
    assert biter_accuracy("none", seed=0, steps=40) <= 0.5
    assert biter_accuracy("sinusoidal", seed=0) > 0.9


def test_biter_accuracy_is_scored_on_the_sentences_kept_for_the_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.manual_seed(0)
    seen, _ = sentences_to_learn_and_to_test()
    known = seen[(seen[:, ::2] < 6).all(dim=1)]
    strangers = torch.where(known < ANIMALS, known + 6, known)  # nobody was shown these six
    for new, share in ((known, 1.0), (strangers, 0.0)):
        monkeypatch.setattr(
            positions_compared, "sentences_to_learn_and_to_test", lambda new=new: (known, new)
        )
        assert biter_accuracy("sinusoidal", seed=0) == share


def test_untrained_positions_stay_as_they_were() -> None:
    torch.manual_seed(3)
    fresh = Reader("learned", WORDS).embedding.positions
    trained = train_word_before("learned", seed=3, longest=8, steps=25).embedding.positions
    assert fresh is not None
    assert trained is not None
    moved = (next(trained.parameters()) - next(fresh.parameters())).abs().sum(dim=1)  # (64,)
    assert (moved[:8] > 0).all()
    assert (moved[8:] == 0).all()


def test_training_is_the_same_twice_and_right_by_place_has_a_share_a_place() -> None:
    first, again = (train_word_before("sinusoidal", 1, longest=8, steps=20) for _ in range(2))
    shares = right_by_place(first, n=12, rows=50)
    assert shares.shape == (12,)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert torch.equal(shares, right_by_place(again, n=12, rows=50))
    assert torch.equal(shares, right_by_place(first, n=12, rows=50))  # rows of their own seed


class NamesTheWordBefore(nn.Module):
    """Right everywhere but in the last place; keeps what it was given."""

    def forward(self, words: Tensor, start: int = 0) -> Tensor:
        self.words, self.start = words, start
        answers = word_before(words)
        answers[:, -1] = (answers[:, -1] + 1) % WORDS
        return one_hot(answers, WORDS)


def test_right_by_place_asks_new_rows_of_its_seed_and_begins_where_it_is_told() -> None:
    model = NamesTheWordBefore()
    assert right_by_place(model, 5, rows=7).tolist() == [1, 1, 1, 1, 0]  # type: ignore[arg-type]
    first = model.words
    assert (first.shape, model.start) == ((7, 5), 0)
    right_by_place(model, 5, rows=7, seed=1, start=16)  # type: ignore[arg-type]
    assert model.start == 16
    assert not torch.equal(first, model.words)
    right_by_place(model, 5, rows=7)  # type: ignore[arg-type]
    assert torch.equal(first, model.words)
    # not the rows of a training with one of the chapter's seeds
    for seed in range(5):
        draw = torch.Generator().manual_seed(seed)
        assert not torch.equal(first, torch.randint(WORDS, (7, 5), generator=draw))


def test_start_is_drawn_up_to_the_last_one() -> None:
    reader = train_word_before("learned", seed=0, longest=8, last_start=20, steps=60)
    torch.manual_seed(0)
    fresh = Reader("learned", WORDS)
    rows = [next(r.embedding.positions.parameters()) for r in (reader, fresh)]  # type: ignore[union-attr]
    moved = (rows[0] - rows[1]).abs().sum(dim=1) > 0
    assert moved[20:24].any()
    assert not moved[28:].any()
