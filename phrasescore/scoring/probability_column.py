"""Log-probabilities as text: for a table as probabilities, for texts as they are.

Moses reads a score as float32, takes the natural logarithm and floors it at -100.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FLOOR_LN = -100.0
# exp(-100) = 3.72007598e-44 is one of float32's denormals and would be read as -99.98. This text
# has the logarithm -100.003; float32 rounds it to 26 * 2^-149, whose logarithm -100.02 is floored.
FLOOR_TEXT = b"3.71e-44"
# exp(89) is infinite as float32
_MAX_COUNT = 88
_DECIMALS = 6  # of ln p itself, in texts


def probability_texts(ln_p: NDArray[np.float64]) -> list[bytes]:
    """Write probabilities with nine significant digits, which float32 cannot tell from exact ones.

    Args:
        ln_p: (N,) natural logarithms; those of -100 or below are written as the floor.

    >>> probability_texts(np.array([0.0, -0.5, -100.0, -1e5]))
    [b'1', b'0.60653066', b'3.71e-44', b'3.71e-44']
    """
    # rounding can leave a logarithm a hair above 0, but there is no probability above 1
    ln_p = np.minimum(ln_p, 0.0)
    texts = [b"%.9g" % p for p in np.exp(np.maximum(ln_p, FLOOR_LN)).tolist()]
    for row in np.flatnonzero(ln_p <= FLOOR_LN).tolist():
        texts[row] = FLOOR_TEXT
    return texts


def count_texts(counts: NDArray[np.int64]) -> list[bytes]:
    """Write exp(count), so that the logarithm that Moses takes gives the count, up to 88.

    >>> count_texts(np.array([0, 2]))
    [b'1', b'7.3890561']
    """
    texts = [b"%.9g" % value for value in np.exp(np.arange(_MAX_COUNT + 1)).tolist()]
    return [texts[count] for count in np.minimum(counts, _MAX_COUNT).tolist()]


def ln_p_texts(ln_p: NDArray[np.float64]) -> list[bytes]:
    """Write log-probabilities with six decimals.

    >>> ln_p_texts(np.array([-0.5, -1e-9, 1e-7]))
    [b'-0.500000', b'0.000000', b'0.000000']
    """
    # rounding can leave a logarithm a hair above 0; and 0.0 is added to have no negative zero
    rounded = np.round(np.minimum(ln_p, 0.0), _DECIMALS) + 0.0
    return [b"%.*f" % (_DECIMALS, value) for value in rounded.tolist()]
