"""The pieces in NumPy, forward and backward, with every gradient written by hand (section 3).

Each piece has two methods. `forward` computes, and keeps what the way back will need. `backward`
gets the gradient of the loss with respect to the piece's output, adds the gradients of the piece's
weights to what is there already, and returns the gradient with respect to the piece's input.
Three rules carry most of it:

* A gradient has the shape of what it is the gradient of.
* What is used in several places gets the sum of the gradients from these places: the input of a
  residual connection, the memory that every decoder layer reads, the shared table.
* Backward takes the pieces in the reverse order of forward.

`grad` is always the gradient of the loss with respect to the output. Shapes stand beside the lines:
b sentences, n positions, d = d_model, h heads. This is for reading: training uses PyTorch.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LOWEST = -1e30  # the score of what may not be attended to: never the largest of a row


class Weights:
    """Arrays by name, and beside each its gradient, collected by addition from zero."""

    def __init__(self, values: dict[str, Array]) -> None:
        self.values = {name: value.copy() for name, value in values.items()}
        self.forget_gradients()

    def forget_gradients(self) -> None:
        """Begin again at zero; gradients that were handed out stay as they are."""
        self.gradients = {name: np.zeros_like(value) for name, value in self.values.items()}


class Linear:
    """y = x W^T + b at every position; W is stored as (out, in)."""

    def __init__(self, weights: Weights, name: str, bias: bool = False) -> None:
        self.weights, self.weight = weights, f"{name}.weight"
        self.bias = f"{name}.bias" if bias else None

    def forward(self, x: Array) -> Array:
        """(..., in) -> (..., out)."""
        self.x = x
        y: Array = x @ self.weights.values[self.weight].T
        return y if self.bias is None else y + self.weights.values[self.bias]

    def backward(self, grad: Array) -> Array:
        """(..., out) -> (..., in).

        y_o = sum_i W_oi x_i + b_o. W_oi reaches the loss through y_o alone, with factor x_i, at
        each position: its gradient is the sum over positions of grad_o x_i. b_o: the same with
        factor 1. x_i reaches it through all y_o, with factors W_oi: sum_o grad_o W_oi.
        """
        rows = grad.reshape(-1, grad.shape[-1])  # (positions, out)
        inputs = self.x.reshape(-1, self.x.shape[-1])  # (positions, in)
        self.weights.gradients[self.weight] += rows.T @ inputs  # (out, in)
        if self.bias is not None:
            self.weights.gradients[self.bias] += rows.sum(0)  # (out,)
        grad_x: Array = grad @ self.weights.values[self.weight]
        return grad_x


def softmax(scores: Array, mask: Array | bool = True) -> Array:
    """Weights along the last axis; zeros where nothing may be attended to. mask: True = may."""
    scores = np.where(mask, scores, LOWEST)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    total = exponentials.sum(-1, keepdims=True)  # 0 for a row that is masked throughout
    weights: Array = exponentials / np.where(total == 0, 1, total)
    return weights


def softmax_backward(weights: Array, grad: Array) -> Array:
    """The gradient of the scores, from that of the weights p.

    The Jacobian is dp_i / ds_j = p_i (1[i = j] - p_j). Its product with the gradient g is
    sum_i g_i p_i (1[i = j] - p_j) = p_j (g_j - sum_i g_i p_i): what exceeds the weighted mean of g
    rises. Where p_j = 0, at what is masked, nothing flows.
    """
    grad_scores: Array = weights * (grad - (grad * weights).sum(-1, keepdims=True))
    return grad_scores


class MultiHeadAttention:
    """Section 3.2: Equation 1 in h heads, between four projections without biases."""

    def __init__(self, weights: Weights, name: str, num_heads: int) -> None:
        kinds = ("query", "key", "value", "output")
        self.query, self.key, self.value, self.output = (
            Linear(weights, f"{name}.{kind}_projection") for kind in kinds
        )
        self.num_heads = num_heads

    def split(self, x: Array) -> Array:
        """(b, n, d) -> (b, h, n, d / h)."""
        b, n, d = x.shape
        return x.reshape(b, n, self.num_heads, d // self.num_heads).swapaxes(1, 2)

    def merge(self, x: Array) -> Array:
        """(b, h, n, d / h) -> (b, n, d): the way back of `split`, and its gradient."""
        b, h, n, d_head = x.shape
        return x.swapaxes(1, 2).reshape(b, n, h * d_head)

    def forward(self, queries: Array, keys_and_values: Array, mask: Array) -> Array:
        """(b, n_q, d), (b, n_k, d) -> (b, n_q, d). mask: broadcastable to (b, h, n_q, n_k)."""
        self.q = self.split(self.query.forward(queries))  # (b, h, n_q, d_k)
        self.k = self.split(self.key.forward(keys_and_values))  # (b, h, n_k, d_k)
        self.v = self.split(self.value.forward(keys_and_values))  # (b, h, n_k, d_v)
        self.scale = float(self.q.shape[-1] ** -0.5)
        scores = self.scale * self.q @ self.k.swapaxes(-1, -2)  # (b, h, n_q, n_k)
        self.p = softmax(scores, mask)
        return self.output.forward(self.merge(self.p @ self.v))

    def backward(self, grad: Array) -> tuple[Array, Array]:
        """(b, n_q, d) -> gradients of the queries' and of the keys' and values' input.

        A product C = A B hands back grad_A = grad_C B^T and grad_B = A^T grad_C. It is met twice:
        heads = P V, and scores = Q K^T / sqrt(d_k). Keys and values are made from one input, so
        that input gets the sum of two gradients.
        """
        grad_heads = self.split(self.output.backward(grad))  # (b, h, n_q, d_v)
        grad_p = grad_heads @ self.v.swapaxes(-1, -2)  # (b, h, n_q, n_k)
        grad_v = self.p.swapaxes(-1, -2) @ grad_heads  # (b, h, n_k, d_v)
        grad_scores = self.scale * softmax_backward(self.p, grad_p)  # (b, h, n_q, n_k)
        grad_q = grad_scores @ self.k  # (b, h, n_q, d_k)
        grad_k = grad_scores.swapaxes(-1, -2) @ self.q  # (b, h, n_k, d_k)
        grad_keys = self.key.backward(self.merge(grad_k))  # (b, n_k, d)
        grad_values = self.value.backward(self.merge(grad_v))  # (b, n_k, d)
        return self.query.backward(self.merge(grad_q)), grad_keys + grad_values


class FeedForward:
    """Section 3.3: max(0, x W_1 + b_1) W_2 + b_2."""

    def __init__(self, weights: Weights, name: str) -> None:
        self.inner = Linear(weights, f"{name}.inner", bias=True)
        self.outer = Linear(weights, f"{name}.outer", bias=True)

    def forward(self, x: Array) -> Array:
        """(..., d) -> (..., d)."""
        inner = self.inner.forward(x)  # (..., d_ff)
        self.positive = inner > 0
        return self.outer.forward(inner * self.positive)

    def backward(self, grad: Array) -> Array:
        """(..., d) -> (..., d). max(0, z) has slope 1 where z > 0 and slope 0 elsewhere."""
        return self.inner.backward(self.outer.backward(grad) * self.positive)


class LayerNorm:
    """Section 3.1: y = gamma * (x - mean) / sigma + beta, sigma = sqrt(variance + eps)."""

    def __init__(self, weights: Weights, name: str, eps: float) -> None:
        self.weights, self.eps = weights, eps
        self.gamma, self.beta = f"{name}.gamma", f"{name}.beta"

    def forward(self, x: Array) -> Array:
        """(..., d) -> (..., d)."""
        centred = x - x.mean(-1, keepdims=True)
        self.sigma = np.sqrt((centred**2).mean(-1, keepdims=True) + self.eps)  # (..., 1)
        self.normal = centred / self.sigma  # (..., d)
        y: Array = self.weights.values[self.gamma] * self.normal + self.weights.values[self.beta]
        return y

    def backward(self, grad: Array) -> Array:
        """(..., d) -> (..., d).

        Let z = (x - mean) / sigma and g = gamma * grad, the gradient of z. A feature x_j moves the
        loss in three ways:

        * its own z_j, by 1 / sigma:                                            g_j / sigma
        * the mean, by 1 / d, which lowers every z_i by 1 / (d sigma):         -mean(g) / sigma
        * sigma, by (x_j - mean) / (d sigma) = z_j / d, which changes every z_i by
          -z_i / sigma times that:                                   -z_j mean(g * z) / sigma

        The means are over the d features. (By way of the variance, the mean moves nothing: the
        deviations from it sum to 0.)
        """
        features = grad.shape[-1]
        by_gamma = (grad * self.normal).reshape(-1, features)
        self.weights.gradients[self.gamma] += by_gamma.sum(0)  # y = gamma * z + beta
        self.weights.gradients[self.beta] += grad.reshape(-1, features).sum(0)
        g = grad * self.weights.values[self.gamma]
        through_mean = g.mean(-1, keepdims=True)
        through_sigma = self.normal * (g * self.normal).mean(-1, keepdims=True)
        grad_x: Array = (g - through_mean - through_sigma) / self.sigma
        return grad_x
