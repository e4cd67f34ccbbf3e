import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from trainer.bigram import fit

VOCABULARY = 12


def sample(seed: int, count: int) -> NDArray[np.uint16]:
    """Tokens of which each depends on the one before; 10 and 11 never occur."""
    chance = np.random.default_rng(seed)
    tokens = [0]
    for _ in range(count - 1):
        tokens.append((tokens[-1] * 3 + int(chance.zipf(1.7))) % 10)
    return np.array(tokens, dtype=np.uint16)


def reference(pieces: list[NDArray[np.uint16]], previous: int, following: int) -> float:
    """The same formula, counted one by one."""
    counts: Counter[tuple[int, int]] = Counter()
    for tokens in pieces:
        counts.update((int(a), int(b)) for a, b in pairwise(tokens))
    lefts = Counter(w for _, w in counts)

    def discount(values: list[int]) -> float:
        once, twice = values.count(1), values.count(2)
        return once / (once + 2 * twice) if once and twice else 0.5

    base_discount, pair_discount = discount(list(lefts.values())), discount(list(counts.values()))
    total = sum(lefts.values())
    base = max(lefts[following] - base_discount, 0) / total + base_discount * len(lefts) / total / VOCABULARY
    seen = sum(n for (v, _), n in counts.items() if v == previous)
    if not seen:
        return base
    distinct = sum(1 for v, _ in counts if v == previous)
    direct = max(counts[previous, following] - pair_discount, 0) / seen
    return direct + pair_discount * distinct / seen * base


def test_probabilities_equal_a_plain_count() -> None:
    pieces = [sample(1, 300), sample(2, 5), sample(3, 80)]
    model = fit(pieces, vocab_size=VOCABULARY)
    pairs = [(v, w) for v in range(VOCABULARY) for w in range(VOCABULARY)]
    previous, following = (np.array(side) for side in zip(*pairs, strict=True))
    expected = [reference(pieces, v, w) for v, w in pairs]
    np.testing.assert_allclose(model.probability(previous, following), expected, rtol=1e-12)


def test_each_distribution_sums_to_one() -> None:
    model = fit([sample(1, 400)], vocab_size=VOCABULARY)
    everything = np.arange(VOCABULARY)
    for previous in everything:
        total = model.probability(np.full(VOCABULARY, previous), everything).sum()
        assert total == pytest.approx(1.0)


def test_loss_is_in_nats_per_token_and_beats_the_unigram() -> None:
    train, held_out = sample(1, 4000), sample(9, 1000)
    model = fit([train], vocab_size=VOCABULARY)
    loss = model.loss(held_out[:-1], held_out[1:])
    by_hand = [reference([train], int(v), int(w)) for v, w in pairwise(held_out)]
    assert loss == pytest.approx(-sum(map(math.log, by_hand)) / len(by_hand))
    shares = (np.bincount(train, minlength=VOCABULARY) + 1) / (len(train) + VOCABULARY)
    assert loss < -np.log(shares[held_out[1:]]).mean() - 0.3
