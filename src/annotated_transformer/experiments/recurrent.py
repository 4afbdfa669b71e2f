"""What came before the Transformer: recurrent translators, with and without attention (section 2).

Three models in one class. They differ in the context, the vector that tells the decoder about the
source:

- ``"none"``: one vector for the whole sentence, the same at every step, as in Cho et al. (2014).
- ``"additive"``: an average of the encoder's states, weighted anew at every step by the score of
  Bahdanau et al. (2014). The state *before* the step asks, and the step reads the context.
- ``"multiplicative"``: the same with the score "general" of Luong et al. (2015). The state *after*
  the step asks, and the read-out alone uses the context.

Encoder and read-out are the same for all three, and simpler than theirs: GRUs, one layer of tanh
before the read-out, and one matrix for both embeddings and the read-out.

Nothing of the Transformer imports this module; chapter 1 trains it.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from annotated_transformer.variants import additive_scores

Kind = Literal["none", "additive", "multiplicative"]
Asks = Literal["before", "after"]
KINDS: tuple[Kind, ...] = ("none", "additive", "multiplicative")
# Between the best start of an embedding, about 1, and that of a read-out, about width ** -0.5.
EMBEDDING_STD = 0.3


class AdditiveScore(nn.Module):
    """vᵀ tanh(W s + U h): the score of Bahdanau et al. (2014), a small network for each pair.

    Args:
        width: of the decoder's state s, of the encoder's states h and of the hidden layer.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query_projection = nn.Linear(width, width, bias=False)  # W
        self.key_projection = nn.Linear(width, width)  # U, and one bias for the sum
        self.vector = nn.Parameter(torch.empty(width).normal_(std=width**-0.5))  # v

    def keys(self, memory: Tensor) -> Tensor:
        """U h, (batch, n_src, width): the same at every step, so computed once a sentence."""
        projected: Tensor = self.key_projection(memory)
        return projected

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """Scores (batch, n_tgt, n_src) of states (batch, n_tgt, width) against the keys."""
        queries = self.query_projection(state)  # (batch, n_tgt, width)
        return additive_scores(queries, keys, self.vector)


class MultiplicativeScore(nn.Module):
    """sᵀ W h: the score "general" of Luong et al. (2015), one matrix product for all pairs.

    With the identity in place of W it is their score "dot", and with the factor d_k ** -0.5 the
    score of the Transformer.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key_projection = nn.Linear(width, width, bias=False)  # W

    def keys(self, memory: Tensor) -> Tensor:
        """W h, (batch, n_src, width): computed once a sentence."""
        projected: Tensor = self.key_projection(memory)
        return projected

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """Scores (batch, n_tgt, n_src) of states (batch, n_tgt, width) against the keys."""
        return state @ keys.transpose(1, 2)


class RecurrentTranslator(nn.Module):
    """A bidirectional GRU reads the source, a GRU writes the target.

    Args:
        vocab_size: of source and target together; the embedding is shared.
        width: of embeddings, of the decoder's state and of one encoder state. Half of an encoder
            state comes from the left, half from the right.
        attention: "none", "additive" or "multiplicative".
        asks: which state asks, the one "before" the step or "after" it; None takes the order of
            the paper that the score comes from. Without attention it has no meaning.
        pad_id, bos_id, eos_id: the special tokens.

    Raises:
        ValueError: an unknown kind of attention, or an odd width.
    """

    def __init__(
        self,
        vocab_size: int,
        width: int = 64,
        attention: Kind = "additive",
        asks: Asks | None = None,
        pad_id: int = 0,
        bos_id: int = 1,
        eos_id: int = 2,
    ) -> None:
        super().__init__()
        if attention not in KINDS:
            raise ValueError(f"attention = {attention!r} is not one of {', '.join(KINDS)}.")
        if width % 2:
            raise ValueError(f"width = {width} is odd; each direction of the encoder takes half.")
        self.attention, self.width = attention, width
        self.asks: Asks = asks or ("after" if attention == "multiplicative" else "before")
        self.pad_id, self.bos_id, self.eos_id = pad_id, bos_id, eos_id
        self.embedding = nn.Embedding(vocab_size, width)
        self.encoder = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.first_state = nn.Linear(width, width)
        self.score: AdditiveScore | MultiplicativeScore | None = None
        if attention != "none":
            additive = attention == "additive"
            self.score = AdditiveScore(width) if additive else MultiplicativeScore(width)
        # Where the context is known before the step, the step reads it beside the last token.
        reads = width if self.attends_after else 2 * width
        self.decoder = nn.GRU(reads, width, batch_first=True)
        self.combine = nn.Linear(2 * width, width)  # of state and context
        self.projection = nn.Linear(width, vocab_size)
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_STD)
        self.projection.weight = self.embedding.weight  # one matrix, as in section 3.4

    @property
    def attends_after(self) -> bool:
        """Whether the state after the step asks."""
        return self.score is not None and self.asks == "after"

    def encode(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """Read the source.

        Args:
            src: tokens (batch, n_src), padded at the end.

        Returns:
            The states at every position (batch, n_src, width), zeros at padding, and the summary
            (batch, width): the last state of each direction. Neither depends on the padding.
        """
        lengths = (src != self.pad_id).sum(1)  # (batch,)
        packed = pack_padded_sequence(
            self.embedding(src), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.encoder(packed)  # last: (2 directions, batch, width / 2)
        memory, _ = pad_packed_sequence(states, batch_first=True, total_length=src.size(1))
        return memory, torch.cat([last[0], last[1]], dim=-1)

    def attend(
        self, state: Tensor, keys: Tensor, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Contexts (batch, n_tgt, width) and weights (batch, n_tgt, n_src) of decoder states.

        Args:
            state: (batch, n_tgt, width), the queries.
            keys: (batch, n_src, width), from `score.keys`.
            memory: (batch, n_src, width), the values.
            mask: bool (batch, n_src), True at real tokens.
        """
        assert self.score is not None
        scores = self.score(state, keys).masked_fill(~mask[:, None], float("-inf"))
        weights = scores.softmax(-1)
        return weights @ memory, weights

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits (batch, n_tgt, vocab_size) for the token after each target position."""
        logits, _ = self.run(src, tgt)
        return logits

    def run(self, src: Tensor, tgt: Tensor) -> tuple[Tensor, Tensor | None]:
        """`forward`, and the attention weights (batch, n_tgt, n_src), None without attention.

        Args:
            src: (batch, n_src).
            tgt: (batch, n_tgt), beginning with bos: what the decoder reads (teacher forcing).
        """
        memory, summary = self.encode(src)
        state = torch.tanh(self.first_state(summary))[None]  # (1, batch, width)
        hidden, weights, _ = self.decode(tgt, state, memory, summary, src != self.pad_id)
        logits: Tensor = self.projection(hidden)
        return logits, weights

    def decode(
        self, tgt: Tensor, state: Tensor, memory: Tensor, summary: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Go on from a state over the tokens tgt (batch, n_tgt).

        Returns:
            What the read-out sees (batch, n_tgt, width), the weights (batch, n_tgt, n_src) or
            None, and the new state (1, batch, width).
        """
        words = self.embedding(tgt)  # (batch, n_tgt, width)
        weights: Tensor | None = None
        if self.score is None:  # one context for all steps
            context = summary[:, None].expand_as(words)
            states, state = self.decoder(torch.cat([words, context], dim=-1), state)
        elif self.attends_after:  # step, then attend: all steps at once
            states, state = self.decoder(words, state)
            context, weights = self.attend(states, self.score.keys(memory), memory, mask)
        else:  # attend, then step: each step needs the one before
            keys, steps = self.score.keys(memory), []
            for word in words.split(1, dim=1):  # (batch, 1, width)
                context, weight = self.attend(state.transpose(0, 1), keys, memory, mask)
                output, state = self.decoder(torch.cat([word, context], dim=-1), state)
                steps.append((output, context, weight))
            states, context, weights = (
                torch.cat(parts, dim=1) for parts in zip(*steps, strict=True)
            )
        hidden = torch.tanh(self.combine(torch.cat([states, context], dim=-1)))
        return hidden, weights, state

    @torch.no_grad()
    def translate(self, src: Tensor, max_extra: int = 10) -> Tensor:
        """Greedy translation: always the most probable next token.

        Returns:
            Tokens (batch, length): bos, the translation, eos, then padding; at most
            n_src + max_extra tokens after bos.
        """
        memory, summary = self.encode(src)
        state, mask = torch.tanh(self.first_state(summary))[None], src != self.pad_id
        output = torch.full((len(src), 1), self.bos_id, device=src.device)
        ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
        for _ in range(src.size(1) + max_extra):
            hidden, _, state = self.decode(output[:, -1:], state, memory, summary, mask)
            token = self.projection(hidden)[:, -1].argmax(-1).masked_fill(ended, self.pad_id)
            output = torch.cat([output, token[:, None]], dim=1)
            ended |= token == self.eos_id
            if bool(ended.all()):
                break
        return output
