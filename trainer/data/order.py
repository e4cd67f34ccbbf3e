"""The order in which training reads windows: a pure function of the seed and the position.

Each pass visits every window once, in an order of its own, without a table: a keyed Feistel network permutes
the smallest power of four that covers the windows, and values outside are walked back in (Black and Rogaway,
"Ciphers with arbitrary finite domains", 2002). Any position costs the same, so a resume skips nothing.
"""

import numpy as np
from numpy.typing import NDArray

NUM_ROUNDS = 6


def windows_at(positions: NDArray[np.int64], *, num_windows: int, seed: int) -> NDArray[np.int64]:
    """Windows to read at positions of the endless sequence of passes; shapes (n,) to (n,)."""
    passes, offsets = np.divmod(positions, num_windows)
    result = np.empty_like(positions)
    for number in np.unique(passes):
        chosen = passes == number
        result[chosen] = permute(offsets[chosen], size=num_windows, key=(seed, int(number)))
    return result


def permute(values: NDArray[np.int64], *, size: int, key: tuple[int, int]) -> NDArray[np.int64]:
    """Map values below `size` one to one onto values below `size`, as the key says."""
    half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
    round_keys = _round_keys(key)
    result = _feistel(values.astype(np.uint64), half_bits, round_keys)
    while (outside := result >= size).any():
        result[outside] = _feistel(result[outside], half_bits, round_keys)
    return result.astype(np.int64)


def _feistel(values: NDArray[np.uint64], half_bits: int, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mask = np.uint64((1 << half_bits) - 1)
    left, right = values >> np.uint64(half_bits), values & mask
    for round_key in keys:
        left, right = right, left ^ (_mix(right ^ round_key) & mask)
    return np.bitwise_or(left << np.uint64(half_bits), right, dtype=np.uint64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """An integer hash whose output bits all depend on all input bits (splitmix64's finaliser)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _round_keys(key: tuple[int, int]) -> NDArray[np.uint64]:
    return np.random.SeedSequence(key).generate_state(NUM_ROUNDS, dtype=np.uint64)
