"""The first tier: CasADi's interpreter. Needs no compiler and starts at once."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import SX


class Kernel:
    """A function of vectors: arrays with the vector as last axis in, arrays out; any leading axes are a batch.

    ``axes`` says for each result whether it is a number (0), a vector (1) or a matrix (2).

    >>> x = SX.sym("x", 2)
    >>> square = Kernel("square", [x], [x * x], axes=[1])
    >>> square(np.array([[1.0, 2.0], [3.0, 4.0]]))
    [array([[ 1.,  4.],
           [ 9., 16.]])]
    """

    def __init__(self, name: str, arguments: Sequence[SX], results: Sequence[SX], axes: Sequence[int]) -> None:
        dense = [ca.densify(result) for result in results]
        self.function = ca.Function(name, list(arguments), dense, {"cse": True})
        self.blocks = [result.shape for result in dense]
        self.shapes = [block[:count] for block, count in zip(self.blocks, axes, strict=True)]

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        arrays = [np.asarray(argument, dtype=float) for argument in arguments]
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
        count = int(np.prod(batch))
        columns = [np.broadcast_to(a, (*batch, a.shape[-1])).reshape(count, a.shape[-1]).T for a in arrays]
        if count == 0:
            return [np.zeros((*batch, *shape)) for shape in self.shapes]
        outputs = self.function.call([ca.DM(column) for column in columns])
        stacks = (np.array(out).reshape(block[0], count, block[1]) for out, block in zip(outputs, self.blocks, strict=True))
        return [
            np.ascontiguousarray(np.moveaxis(stack, 1, 0)).reshape(*batch, *shape)
            for stack, shape in zip(stacks, self.shapes, strict=True)
        ]
