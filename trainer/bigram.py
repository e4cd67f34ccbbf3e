"""The baseline a language model must beat: interpolated Kneser-Ney bigrams (Chen and Goodman 1999).

P(w | v) = max(n(v w) - d, 0) / n(v) + d N(v .) / n(v) * Q(w): N counts distinct continuations, Q is the share
of distinct left neighbours, itself discounted and interpolated with the uniform distribution.
The discounts are the usual estimate n1 / (n1 + 2 n2) from counts of counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bigram:
    """A fitted model; `pairs` (sorted) are codes `v * vocab_size + w`, `counts` how often each occurred."""

    vocab_size: int
    pairs: Integers
    counts: Integers
    totals: Integers
    followers: Integers
    base: Floats
    discount: float

    def loss(self, previous: Integers, following: Integers) -> float:
        """Mean negative log-likelihood of `following` given `previous`, in nats per token."""
        return float(-np.log(self.probability(previous, following)).mean())

    def probability(self, previous: Integers, following: Integers) -> Floats:
        """P(following | previous), elementwise."""
        codes = previous.astype(np.int64) * self.vocab_size + following
        places = np.minimum(np.searchsorted(self.pairs, codes), len(self.pairs) - 1)
        counts = np.where(self.pairs[places] == codes, self.counts[places], 0)
        totals = np.maximum(self.totals[previous], 1)
        direct = np.maximum(counts - self.discount, 0.0) / totals
        left_over = np.where(
            self.totals[previous] > 0, self.discount * self.followers[previous] / totals, 1.0
        )
        result: Floats = direct + left_over * self.base[following]
        return result


def fit(pieces: Iterable[NDArray[np.uint16]], *, vocab_size: int) -> Bigram:
    """Count the bigrams of token sequences (none spans two pieces) and derive the discounts."""
    pairs, counts = _count_pairs(pieces, vocab_size=vocab_size)
    previous, following = np.divmod(pairs, vocab_size)
    return Bigram(
        vocab_size=vocab_size,
        pairs=pairs,
        counts=counts,
        totals=np.bincount(previous, weights=counts, minlength=vocab_size).astype(np.int64),
        followers=np.bincount(previous, minlength=vocab_size).astype(np.int64),
        base=_base_distribution(np.bincount(following, minlength=vocab_size), vocab_size=vocab_size),
        discount=_discount(counts),
    )


def _count_pairs(pieces: Iterable[NDArray[np.uint16]], *, vocab_size: int) -> tuple[Integers, Integers]:
    pairs, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for tokens in pieces:
        codes = tokens[:-1].astype(np.int64) * vocab_size + tokens[1:]
        found, found_counts = np.unique(codes, return_counts=True)
        pairs, counts = _add_counts(pairs, counts, found, found_counts)
    return pairs, counts


def _add_counts(
    pairs: Integers, counts: Integers, more_pairs: Integers, more_counts: Integers
) -> tuple[Integers, Integers]:
    merged, places = np.unique(np.concatenate((pairs, more_pairs)), return_inverse=True)
    weights = np.concatenate((counts, more_counts))
    return merged, np.bincount(places, weights=weights, minlength=len(merged)).astype(np.int64)


def _base_distribution(left_neighbours: Integers, *, vocab_size: int) -> Floats:
    """Q: each word by its number of distinct left neighbours, discounted towards uniform."""
    total = max(1, int(left_neighbours.sum()))
    discount = _discount(left_neighbours[left_neighbours > 0])
    left_over = discount * np.count_nonzero(left_neighbours) / total if left_neighbours.any() else 1.0
    base: Floats = np.maximum(left_neighbours - discount, 0.0) / total + left_over / vocab_size
    return base


def _discount(counts: Integers) -> float:
    """Absolute discount from the numbers of things seen once and twice; in (0, 1)."""
    once, twice = int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts == 2))
    return once / (once + 2 * twice) if once and twice else 0.5
