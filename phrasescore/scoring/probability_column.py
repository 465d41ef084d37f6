"""Formats log-probabilities: as probabilities for a table, as logarithms for texts.

Moses reads a score as float32, takes its natural logarithm, and replaces logarithms below -100 by
-100.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phrasescore.table.phrase_table import FLOOR_LN

# exp(-100) = 3.72007598e-44 is a denormal float32, and Moses would read it as ln p = -99.98. The
# logarithm of 3.71e-44 is -100.003. float32 rounds this number to 26 * 2^-149, whose logarithm,
# -100.02, Moses replaces by -100.
FLOOR_TEXT = b"3.71e-44"
# float32 cannot represent exp(89)
_MAX_COUNT = 88
_DECIMALS = 6  # decimals of ln p in scored texts


def probability_texts(ln_p: NDArray[np.float64]) -> list[bytes]:
    """Format probabilities with nine significant digits, which determine a float32 exactly.

    Args:
        ln_p: (N,) natural logarithms; -100 and below become ``FLOOR_TEXT``.

    >>> probability_texts(np.array([0.0, -0.5, -100.0, -1e5]))
    [b'1', b'0.60653066', b'3.71e-44', b'3.71e-44']
    """
    # rounding errors can make a logarithm slightly larger than 0, and so a probability exceed 1
    ln_p = np.minimum(ln_p, 0.0)
    texts = [b"%.9g" % p for p in np.exp(np.maximum(ln_p, FLOOR_LN)).tolist()]
    for row in np.flatnonzero(ln_p <= FLOOR_LN).tolist():
        texts[row] = FLOOR_TEXT
    return texts


def count_texts(counts: NDArray[np.int64]) -> list[bytes]:
    """Format exp(count), of which Moses takes the logarithm; counts above 88 become 88.

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
    # rounding errors can make a logarithm slightly larger than 0; adding 0.0 turns -0.0 into 0.0
    rounded = np.round(np.minimum(ln_p, 0.0), _DECIMALS) + 0.0
    return [b"%.*f" % (_DECIMALS, value) for value in rounded.tolist()]
