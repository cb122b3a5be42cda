"""The networks that FedDAG trains: one small network per variable, all computed together, with explicit gradients.

Network j predicts column j from all columns, each multiplied by entry ``[i, j]`` of a mask whose diagonal is zero. The
networks of all variables are a batch of matrices, so a layer is one contraction. The gradient takes a dozen lines, and
is about twice as fast as with a library for automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SLOPE = 0.05
"""Slope of the leaky rectifier for negative values."""

HIDDEN = (16, 16, 16, 16)
"""Units of the hidden layers."""

CHUNK = 512
"""Rows in one chunk: this limits memory, and a chunk fits in the processor's cache."""


def layer_shapes(variables: int, hidden: Sequence[int] = HIDDEN) -> list[tuple[int, int, int]]:
    """Shapes of the layers: network, output unit, input. The last input is the constant 1; its weight is the bias.

    Examples
    --------
    >>> layer_shapes(3, [2])
    [(3, 2, 4), (3, 1, 3)]
    """
    widths = [variables, *hidden, 1]
    return [(variables, b, a + 1) for a, b in pairwise(widths)]


def weight_count(variables: int, hidden: Sequence[int] = HIDDEN) -> int:
    """Number of weights of all networks together.

    Examples
    --------
    >>> weight_count(3, [2])
    33
    """
    return sum(a * b * c for a, b, c in layer_shapes(variables, hidden))


def split(flat: Array, shapes: Sequence[tuple[int, int, int]]) -> list[Array]:
    """Split a vector of all weights into layers (views)."""
    ends = np.cumsum([a * b * c for a, b, c in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]


def initial_weights(
    variables: int, rng: np.random.Generator, hidden: Sequence[int] = HIDDEN, *, alike: bool = False
) -> NDArray[np.float32]:
    """Glorot's uniform weights and zero biases, as one vector; with `alike`, the same for all networks.

    Examples
    --------
    >>> import numpy as np
    >>> initial_weights(3, np.random.default_rng(0), [2]).shape
    (33,)
    """
    shapes = layer_shapes(variables, hidden)
    parts = []
    for at, shape in enumerate(shapes):
        inputs = shape[2] - 1 - (at == 0)  # a network does not see its own variable
        limit = np.sqrt(6 / (inputs + shape[1]))
        weights = rng.uniform(-limit, limit, shape)
        weights[:, :, -1] = 0
        if alike and at == 0:  # network j has no input j: the others take the equal weights in order
            others = np.array([np.delete(np.arange(variables), j) for j in range(variables)])
            np.put_along_axis(weights[:, :, :-1], others[:, None, :], weights[:1, :, : variables - 1].copy(), axis=2)
        elif alike:
            weights[:] = weights[0]
        parts.append(weights.ravel())
    return np.concatenate(parts).astype(np.float32)


def chunks(rows: Array, dtype: Any = np.float32) -> list[Array]:
    """Cut a table into pieces of similar size for `Networks`: columns become rows, and a row of ones is added."""
    parts = np.array_split(rows, -(-len(rows) // CHUNK))
    return [np.vstack([part.T, np.ones(len(part))]).astype(dtype) for part in parts]


class Networks:
    """Loss and gradients of the networks on one table.

    Parameters
    ----------
    rows : array, shape (n, p)
        The table.
    hidden : sequence of int
        Units of the hidden layers.
    dtype : dtype
        Type of all numbers in the computation.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).standard_normal((100, 3))
    >>> networks = Networks(rows)
    >>> weights = initial_weights(3, np.random.default_rng(1))
    >>> loss, by_weight, by_mask = networks.loss(weights, 1 - np.eye(3))
    >>> by_weight.shape == weights.shape, by_mask.shape
    (True, (3, 3))
    """

    def __init__(self, rows: Array, hidden: Sequence[int] = HIDDEN, dtype: Any = np.float32) -> None:
        self._n, self._p = rows.shape
        self._chunks = chunks(rows, dtype)
        self._shapes = layer_shapes(self._p, hidden)
        size = self._chunks[0].shape[1]
        # Kept between calls: allocating this memory in every step takes longer than the computation.
        self._active = [np.ones((self._p, units + 1, size), dtype) for units in hidden]
        self._scratch = {units: np.empty((2, self._p, units, size), dtype) for units in hidden}

    def loss(self, weights: Array, mask: Array) -> tuple[float, Array, NDArray[np.float64]]:
        """Compute half the squared error (summed over variables, mean over rows), and its gradients.

        Parameters
        ----------
        weights : array
            All weights as a vector of type `dtype`.
        mask : array, shape (p, p)
            Entry ``[i, j]`` multiplies column i as an input of network j. The diagonal must be zero.
        """
        layers = split(weights, self._shapes)
        factor = np.ones((self._p, 1, self._p + 1), weights.dtype)
        factor[:, 0, :-1] = mask.T
        masked = [layers[0] * factor, *layers[1:]]
        total = 0.0
        gradient = np.zeros_like(weights)
        into = split(gradient, self._shapes)
        for chunk in self._chunks:
            residual = self._forward(masked, chunk)
            total += float(np.vdot(residual, residual))
            for at, part in self._backward(masked, chunk, residual / weights.dtype.type(self._n)):
                into[at] += part
        by_mask = (into[0][:, :, :-1] * layers[0][:, :, :-1]).sum(axis=1).T.astype(np.float64)
        into[0] *= factor
        return total / (2 * self._n), gradient, by_mask

    def _forward(self, layers: Sequence[Array], chunk: Array) -> Array:
        """Return predictions minus columns, shape (p, rows); store the activations."""
        rows = chunk.shape[1]
        inputs: Array = chunk
        for at, layer in enumerate(layers[:-1]):
            values, scaled = self._scratch[layer.shape[1]][:, :, :, :rows]
            np.matmul(layer, inputs, out=values)
            np.multiply(values, layer.dtype.type(SLOPE), out=scaled)
            np.maximum(values, scaled, out=self._active[at][:, :-1, :rows])
            inputs = self._active[at][:, :, :rows]
        out: Array = (layers[-1] @ inputs)[:, 0] - chunk[:-1]
        return out

    def _backward(self, layers: Sequence[Array], chunk: Array, by_output: Array) -> Iterator[tuple[int, Array]]:
        """Yield for every layer, starting with the last, its number and the gradient for its weights."""
        rows = chunk.shape[1]
        real = by_output.dtype.type
        error = by_output[:, None, :]
        for at in range(len(layers) - 1, 0, -1):
            active = self._active[at - 1][:, :, :rows]
            yield at, error @ active.transpose(0, 2, 1)
            slopes = self._scratch[active.shape[1] - 1][0, :, :, :rows]
            np.multiply(active[:, :-1] > 0, real(1 - SLOPE), out=slopes)
            slopes += real(SLOPE)
            back = layers[at][:, :, :-1].transpose(0, 2, 1)
            error = back * error if back.shape[2] == 1 else back @ error  # an outer product does not need BLAS
            error *= slopes
        units = error.shape[1]
        flat = error.reshape(-1, rows) @ chunk.T  # the same inputs for all networks: one product
        yield 0, flat.reshape(self._p, units, -1)
