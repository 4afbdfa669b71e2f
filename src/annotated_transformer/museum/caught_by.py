"""The test that would have caught each bug: a few lines, to be put beside one's own code.

Each takes by name what it needs of a system: `model`, `recipe` (the code around it), `pairs` (of
sentences), `vocabulary`, `log` (of the training). It passes on the right one.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.data import Split, Vocabulary
from annotated_transformer.decoding.incremental import PrefixDecoder
from annotated_transformer.evaluation.scoring import cased_bleu
from annotated_transformer.museum import recipe as right
from annotated_transformer.museum.recipe import Recipe
from annotated_transformer.museum.system import Log
from annotated_transformer.positional import sinusoidal_encoding
from annotated_transformer.residual import LayerNorm, ResidualConnection
from annotated_transformer.transformer import Transformer


def tokens(sentences: int = 2, n: int = 9) -> Tensor:
    """Tokens without meaning, the same each time: (sentences, n)."""
    return torch.randint(3, 1000, (sentences, n), generator=torch.Generator().manual_seed(n))


def what_comes_later_changes_nothing(model: Transformer) -> None:
    src, read = tokens(), tokens()
    other = read.clone()
    other[:, 5:] += 1
    assert_close(model(src, other)[:, :5], model(src, read)[:, :5])


def what_is_said_was_not_read(recipe: Recipe) -> None:
    read, labels = recipe.read_and_labels(torch.tensor([[1, 8, 9, 4, 2]]))
    assert read.tolist() == [[1, 8, 9, 4]]
    assert labels.tolist() == [[8, 9, 4, 2]]


def alone_as_in_a_batch(model: Transformer) -> None:
    src, tgt = tokens(1), tokens(1)
    in_a_batch = functional.pad(src, (0, 6), value=model.config.pad_id)
    assert_close(model(in_a_batch, tgt), model(src, tgt))


def padding_costs_nothing(recipe: Recipe) -> None:
    logits, labels = torch.randn(2, 9, 1000), tokens()
    padded = functional.pad(labels, (0, 3), value=right.CONFIG.pad_id)
    longer = torch.cat([logits, torch.randn(2, 3, 1000)], dim=1)
    assert_close(recipe.loss(longer, padded), recipe.loss(logits, labels))


def attention_is_equation_1(model: Transformer) -> None:
    attention = next(m for m in model.modules() if isinstance(m, MultiHeadAttention))
    q, k, v = torch.randn(3, 2, 4, 7, 8)
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    assert_close(
        attention.attend(q, k, v, mask), functional.scaled_dot_product_attention(q, k, v, mask)
    )


def heads_are_pytorchs(model: Transformer) -> None:
    ours = next(m for m in model.modules() if isinstance(m, MultiHeadAttention))
    x = torch.randn(2, 7, model.config.d_model)
    theirs = nn.MultiheadAttention(x.size(-1), ours.num_heads, bias=False, batch_first=True)
    projections = ours.query_projection, ours.key_projection, ours.value_projection
    theirs.in_proj_weight.data = torch.cat([one.weight for one in projections])
    theirs.out_proj.weight.data = ours.output_projection.weight
    assert_close(ours(x, x, x), theirs(x, x, x)[0])


def embeddings_are_scaled_and_know_their_place(model: Transformer) -> None:
    ids, root = tokens(), model.config.d_model**0.5
    for embedding in (model.source_embedding, model.target_embedding):
        places = sinusoidal_encoding(ids.size(1), model.config.d_model)
        assert_close(embedding(ids), root * embedding.table(ids) + places)


def one_matrix_is_shared(model: Transformer) -> None:
    assert model.projection.weight is model.source_embedding.table.weight
    assert model.target_embedding.table.weight is model.source_embedding.table.weight


def what_enters_comes_through(model: Transformer) -> None:
    x = torch.randn(2, 7, model.config.d_model)
    for around in (m for m in model.modules() if isinstance(m, ResidualConnection)):
        assert_close(around(x, torch.zeros_like), around.norm(x))


def norms_are_pytorchs(model: Transformer) -> None:
    x = torch.randn(2, 7, model.config.d_model)
    for norm in (m for m in model.modules() if isinstance(m, LayerNorm)):
        theirs = functional.layer_norm(x, norm.gamma.shape, norm.gamma, norm.beta, norm.eps)
        assert_close(norm(x), theirs)


def asked_twice_it_says_the_same(model: Transformer) -> None:
    model.eval()
    assert_close(model(tokens(), tokens()), model(tokens(), tokens()))


def learning_it_drops(model: Transformer, recipe: Recipe) -> None:
    model.eval()  # as after a validation
    recipe.learning(model)
    assert not torch.equal(model(tokens(), tokens()), model(tokens(), tokens()))


def the_rate_follows_its_schedule(recipe: Recipe) -> None:
    for step in (1, right.WARMUP, right.STEPS // 2, right.STEPS):
        assert recipe.rate(step) == right.rate(step)


def a_gradient_is_gone_after_its_step(model: Transformer, recipe: Recipe) -> None:
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    recipe.clear(torch.optim.SGD(model.parameters()))
    assert not any(w.grad is not None and w.grad.any() for w in model.parameters())


def parts_add_up_to_the_whole(model: Transformer, recipe: Recipe) -> None:
    src, tgt = tokens(6), tokens(6)
    tgt[:5, 3:] = 0  # five short sentences and a long one
    weight = model.projection.weight

    def gradient_of(*parts: tuple[Tensor, Tensor]) -> Tensor:
        weight.grad = None
        recipe.gradient(recipe, model.eval(), parts)
        assert weight.grad is not None
        return weight.grad

    assert_close(gradient_of((src[:5], tgt[:5]), (src[5:], tgt[5:])), gradient_of((src, tgt)))


def targets_are_whole(recipe: Recipe, pairs: Split, vocabulary: Vocabulary) -> None:
    for ids, sentence in zip(recipe.ids(pairs, vocabulary).target, pairs.target, strict=True):
        assert [*ids] == [1, *vocabulary.encode(sentence), 2]


def it_is_asked_in_its_own_words(recipe: Recipe, pairs: Split, vocabulary: Vocabulary) -> None:
    for sentence in pairs.source:
        assert recipe.known(vocabulary).encode(sentence) == vocabulary.encode(sentence)


def what_was_learned_is_there(
    model: Transformer, recipe: Recipe, pairs: Split, vocabulary: Vocabulary, log: Log
) -> None:
    src, tgt = right.tensors(recipe.ids(pairs, vocabulary), range(len(pairs)))
    assert recipe.loss_of(model.eval(), src, tgt) < log.last_loss() + 0.5


def the_cache_changes_nothing(model: Transformer, recipe: Recipe) -> None:
    src, written = tokens(), tokens()[:, None]  # (batch, beam, n)
    ours, plain = recipe.decoder(model.eval(), src, 1), PrefixDecoder(model, src, 1)
    for n in (1, 2, 3):
        so_far = written[..., :n]
        assert_close(ours.next_logits(so_far), plain.next_logits(so_far))


def ranks_change_with_their_cache(model: Transformer, recipe: Recipe) -> None:
    src, beams = tokens(1), tokens(2, 2)[None]  # (batch, beam, n)
    ours, plain = recipe.decoder(model.eval(), src, 2), PrefixDecoder(model, src, 2)
    for decoder in (ours, plain):
        decoder.next_logits(beams[..., :1])
        decoder.select(torch.tensor([0]), torch.tensor([[1, 0]]))
    assert_close(ours.next_logits(beams.flip(1)), plain.next_logits(beams.flip(1)))


def references_are_not_read(model: Transformer, recipe: Recipe) -> None:
    src, references = tokens(), torch.cat([torch.ones(2, 1).long(), tokens()], dim=1)
    others = torch.cat([references[:, :1], references[:, 1:].flip(1)], dim=1)
    said, said_too = (recipe.write(recipe, model, src, one) for one in (references, others))
    assert torch.equal(said, said_too)


def the_score_is_sacrebleus(recipe: Recipe) -> None:
    said, wanted = ["der Hund schläft im Garten , ja !"], ["Der Hund schläft im Garten, ja!"]
    assert recipe.score(said, wanted).value == cased_bleu(said, wanted).value
