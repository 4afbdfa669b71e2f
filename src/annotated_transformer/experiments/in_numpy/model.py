"""The Transformer in NumPy out of these pieces: layers, shared table, loss (sections 3.1 and 3.4).

Shapes: b sentences, n positions, d = d_model, V tokens. How `forward` and `backward` work together
stands at the top of `pieces`.
"""

from typing import Any

import numpy as np

from annotated_transformer.config import TransformerConfig
from annotated_transformer.experiments.in_numpy.pieces import (
    Array,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Weights,
)


class EncoderLayer:
    """Section 3.1: x = LayerNorm(x + Sublayer(x)), with self-attention, then feed-forward."""

    def __init__(self, weights: Weights, name: str, config: TransformerConfig) -> None:
        self.attention = MultiHeadAttention(weights, f"{name}.self_attention", config.num_heads)
        self.feed_forward = FeedForward(weights, f"{name}.feed_forward")
        self.norms = layer_norms(weights, name, 2, config)

    def forward(self, x: Array, mask: Array) -> Array:
        """(b, n, d) -> (b, n, d)."""
        x = self.norms[0].forward(x + self.attention.forward(x, x, mask))
        return self.norms[1].forward(x + self.feed_forward.forward(x))

    def backward(self, grad: Array) -> Array:
        """(b, n, d) -> (b, n, d).

        x + Sublayer(x) hands the gradient on unchanged by the sum, and adds what comes through the
        sub-layer. Self-attention uses x twice, as queries and as keys and values.
        """
        grad = self.norms[1].backward(grad)
        grad = grad + self.feed_forward.backward(grad)
        grad = self.norms[0].backward(grad)
        grad_queries, grad_keys_and_values = self.attention.backward(grad)
        return grad + grad_queries + grad_keys_and_values


class DecoderLayer:
    """Section 3.1: masked self-attention, attention to the memory, feed-forward."""

    def __init__(self, weights: Weights, name: str, config: TransformerConfig) -> None:
        self.attention = MultiHeadAttention(weights, f"{name}.self_attention", config.num_heads)
        self.cross = MultiHeadAttention(weights, f"{name}.cross_attention", config.num_heads)
        self.feed_forward = FeedForward(weights, f"{name}.feed_forward")
        self.norms = layer_norms(weights, name, 3, config)

    def forward(self, x: Array, memory: Array, src_mask: Array, tgt_mask: Array) -> Array:
        """(b, n_tgt, d), (b, n_src, d) -> (b, n_tgt, d)."""
        x = self.norms[0].forward(x + self.attention.forward(x, x, tgt_mask))
        x = self.norms[1].forward(x + self.cross.forward(x, memory, src_mask))
        return self.norms[2].forward(x + self.feed_forward.forward(x))

    def backward(self, grad: Array) -> tuple[Array, Array]:
        """(b, n_tgt, d) -> gradients of x (b, n_tgt, d) and of the memory (b, n_src, d)."""
        grad = self.norms[2].backward(grad)
        grad = grad + self.feed_forward.backward(grad)
        grad = self.norms[1].backward(grad)
        grad_queries, grad_memory = self.cross.backward(grad)
        grad = self.norms[0].backward(grad + grad_queries)
        grad_queries, grad_keys_and_values = self.attention.backward(grad)
        return grad + grad_queries + grad_keys_and_values, grad_memory


def layer_norms(
    weights: Weights, layer: str, number: int, config: TransformerConfig
) -> list[LayerNorm]:
    """The norms of a layer's sub-layers, in the order in which these act."""
    eps = config.layer_norm_eps
    return [LayerNorm(weights, f"{layer}.residuals.{i}.norm", eps) for i in range(number)]


def sinusoids(n: int, d_model: int) -> Array:
    """Section 3.5: sines in the even columns, cosines in the odd ones, (n, d_model); constants."""
    angle = np.arange(n)[:, None] / 10000.0 ** (np.arange(0, d_model, 2) / d_model)
    pairs = np.stack([np.sin(angle), np.cos(angle)], axis=-1)  # (n, d_model / 2, 2)
    return pairs.reshape(n, d_model).astype(np.float32)  # the precision in which ours are kept


class NumpyTransformer:
    """Figure 1: the paper's model, on weights that have the names of `Transformer`'s parameters.

    Args:
        parameters: `{name: value.detach().numpy() for name, value in model.named_parameters()}`.
            The arrays are copied.
        config: of that model: post-norm, sinusoids, one shared table, no biases in attention.
            Dropout is left out, as in a model in evaluation mode.

    Raises:
        ValueError: if the configuration departs from the paper where this code follows it.
    """

    TABLE = "source_embedding.table.weight"  # section 3.4: the one matrix used in three places

    def __init__(self, parameters: dict[str, Array], config: TransformerConfig) -> None:
        if departures := config.departures(("layer_norm_eps", "attention_dropout")):
            raise ValueError(
                "The NumPy model is the paper's: post-norm, sinusoids, one shared table, no biases "
                f"in attention. The configuration departs from it: {', '.join(departures)}."
            )
        self.weights, self.config = Weights(parameters), config
        layers = range(config.num_layers)
        self.encoder = [EncoderLayer(self.weights, f"encoder.layers.{i}", config) for i in layers]
        self.decoder = [DecoderLayer(self.weights, f"decoder.layers.{i}", config) for i in layers]

    def embed(self, tokens: Array) -> Array:
        """Section 3.4: sqrt(d) * table[tokens] + positions; (b, n) -> (b, n, d)."""
        table = self.weights.values[self.TABLE]  # (V, d)
        positions = sinusoids(tokens.shape[1], table.shape[1]).astype(table.dtype)
        return float(table.shape[1] ** 0.5) * table[tokens] + positions

    def embed_backward(self, tokens: Array, grad: Array) -> None:
        """A row of the table gets sqrt(d) * grad from each place where its token stands."""
        scale = float(grad.shape[-1] ** 0.5)
        np.add.at(self.weights.gradients[self.TABLE], tokens, scale * grad)  # += skips repetitions

    def forward(self, src: Array, tgt: Array) -> Array:
        """Tokens (b, n_src) and (b, n_tgt) -> logits (b, n_tgt, V)."""
        self.src, self.tgt = src, tgt
        causal = np.tri(tgt.shape[1], dtype=bool)  # section 3.2.3: (n_tgt, n_tgt)
        src_mask = (src != self.config.pad_id)[:, None, None, :]  # (b, 1, 1, n_src)
        tgt_mask = (tgt != self.config.pad_id)[:, None, None, :] & causal  # (b, 1, n_tgt, n_tgt)
        memory = self.embed(src)
        for encoder_layer in self.encoder:
            memory = encoder_layer.forward(memory, src_mask)
        x = self.embed(tgt)
        for decoder_layer in self.decoder:
            x = decoder_layer.forward(x, memory, src_mask, tgt_mask)
        self.hidden = x  # (b, n_tgt, d)
        logits: Array = x @ self.weights.values[self.TABLE].T
        return logits

    def backward(self, grad: Array) -> None:
        """From the gradient of the logits (b, n_tgt, V) to those of all weights.

        The table gets three gradients, which add up: as output matrix here, as embedding of the
        targets, as embedding of the sources. The memory gets one from each decoder layer, because
        each layer reads it.
        """
        d, vocab_size = self.hidden.shape[-1], grad.shape[-1]
        rows = grad.reshape(-1, vocab_size)  # (b * n_tgt, V)
        self.weights.gradients[self.TABLE] += rows.T @ self.hidden.reshape(-1, d)  # (V, d)
        grad = grad @ self.weights.values[self.TABLE]  # (b, n_tgt, d)
        grad_memory: Any = 0.0
        for decoder_layer in reversed(self.decoder):
            grad, from_this_layer = decoder_layer.backward(grad)
            grad_memory = grad_memory + from_this_layer  # (b, n_src, d)
        self.embed_backward(self.tgt, grad)
        for encoder_layer in reversed(self.encoder):
            grad_memory = encoder_layer.backward(grad_memory)
        self.embed_backward(self.src, grad_memory)

    def loss_and_gradients(
        self, src: Array, tgt: Array, labels: Array, smoothing: float = 0.0
    ) -> tuple[float, dict[str, Array]]:
        """The loss of a batch, and the gradient of every weight by name. See `cross_entropy`."""
        self.weights.forget_gradients()
        logits = self.forward(src, tgt)
        loss, grad = cross_entropy(logits, labels, smoothing, self.config.pad_id)
        self.backward(grad)
        return loss, self.weights.gradients

    def step(self, learning_rate: float) -> None:
        """Gradient descent: every weight goes against its gradient."""
        for name, gradient in self.weights.gradients.items():
            self.weights.values[name] -= learning_rate * gradient


def cross_entropy(
    logits: Array, labels: Array, smoothing: float = 0.0, pad_id: int = 0
) -> tuple[float, Array]:
    """The mean over real tokens of -sum_v q_v log p_v, and its gradient (b, n, V).

    p = softmax(logits). q is 1 at the label and 0 elsewhere; with label smoothing (section 5.4)
    it is (1 - smoothing) times that plus smoothing / V. With the Jacobian of `softmax_backward`
    the gradient of one position is p * (g - sum g p) with g = -q / p. Since q sums to 1, that is
    p - q: what was said minus what should have been said.

    Args:
        logits: (b, n, V).
        labels: the tokens that should follow, (b, n); where they are padding nothing counts.
    """
    real = (labels != pad_id)[..., None]  # (b, n, 1)
    number = int(real.sum())
    shifted = logits - logits.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))  # (b, n, V)
    vocab_size = logits.shape[-1]
    one_hot = np.eye(vocab_size, dtype=logits.dtype)[labels]  # (b, n, V)
    q = (1 - smoothing) * one_hot + smoothing / vocab_size
    loss = -(q * log_p * real).sum() / number
    return float(loss), (np.exp(log_p) - q) * real / number
