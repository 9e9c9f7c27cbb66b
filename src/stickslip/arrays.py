"""Short names for the types of arrays; shapes and units are said where an array is a field or an argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Numbers."""
Ints = NDArray[np.int32]
"""Indices and codes, as kernels take them."""
LongInts = NDArray[np.int64]
"""Keys of contacts and pairs, and counts that may be large."""
Bools = NDArray[np.bool_]
"""Marks."""
