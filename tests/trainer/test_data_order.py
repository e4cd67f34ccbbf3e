import numpy as np
import pytest

from trainer.data.order import permute, windows_at


@pytest.mark.parametrize("size", [1, 2, 3, 16, 17, 1000, 65_537])
def test_a_pass_visits_every_window_once(size: int) -> None:
    order = windows_at(np.arange(size), num_windows=size, seed=3)
    assert np.array_equal(np.sort(order), np.arange(size))


def test_a_position_needs_no_history() -> None:
    whole = windows_at(np.arange(3000), num_windows=1234, seed=3)
    alone = [
        int(windows_at(np.array([place]), num_windows=1234, seed=3)[0]) for place in (0, 1233, 1234, 2999)
    ]
    assert alone == whole[[0, 1233, 1234, 2999]].tolist()


def test_passes_and_seeds_have_orders_of_their_own() -> None:
    first, second = windows_at(np.arange(2000), num_windows=1000, seed=3).reshape(2, 1000)
    other = windows_at(np.arange(1000), num_windows=1000, seed=4)
    assert np.count_nonzero(first == second) < 20
    assert np.count_nonzero(first == other) < 20


def test_the_order_is_well_mixed() -> None:
    order = permute(np.arange(10_000), size=10_000, key=(1, 0))
    assert abs(np.corrcoef(np.arange(10_000), order)[0, 1]) < 0.05
    assert np.count_nonzero(np.abs(np.diff(order)) == 1) < 20


def test_the_order_never_changes_between_versions() -> None:
    assert windows_at(np.arange(6), num_windows=100, seed=1234).tolist() == [38, 41, 76, 11, 67, 46]
