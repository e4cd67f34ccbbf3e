"""All ranks meet before training: who is missing, and does a collective really get through?"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from trainer.errors import HandshakeTimeout

COLLECTIVE_TIMEOUT = timedelta(minutes=10)
CHECK_SECONDS = 0.1


def meet(backend: str, *, device: torch.device, timeout_seconds: float) -> float:
    """Join the process group; returns the seconds it took.

    First all ranks sign in at the store, so that a missing one can be named. Then a group with the short
    timeout sums one number over the data path, which other ports carry. Training gets a group with a longer
    timeout of its own. Raises HandshakeTimeout.
    """
    started = time.monotonic()
    store, rank, world_size = next(iter(rendezvous("env://", timeout=timedelta(seconds=timeout_seconds))))
    _sign_in(store, rank, world_size, deadline=started + timeout_seconds)
    limit = timedelta(seconds=timeout_seconds)
    _join(backend, PrefixStore("handshake", store), rank, world_size, timeout=limit)
    _check_sum(device, rank=rank, world_size=world_size)
    dist.destroy_process_group()
    _join(backend, PrefixStore("train", store), rank, world_size, timeout=COLLECTIVE_TIMEOUT)
    return time.monotonic() - started


def _sign_in(store: Store, rank: int, world_size: int, *, deadline: float) -> None:
    store.set(f"signed-in/{rank}", "yes")
    missing = list(range(world_size))
    while missing := [other for other in missing if not store.check([f"signed-in/{other}"])]:
        if time.monotonic() > deadline:
            raise HandshakeTimeout(
                f"handshake: rank(s) {', '.join(map(str, missing))} of {world_size} did not come in time; "
                f"look at the logs and events of their pods"
            )
        time.sleep(CHECK_SECONDS)


def _join(backend: str, store: Store, rank: int, world_size: int, *, timeout: timedelta) -> None:
    try:
        dist.init_process_group(backend, store=store, rank=rank, world_size=world_size, timeout=timeout)
    except RuntimeError as error:
        raise _unreachable(error) from error


def _check_sum(device: torch.device, *, rank: int, world_size: int) -> None:
    value = torch.tensor([float(rank)], device=device)
    try:
        dist.all_reduce(value)
    except RuntimeError as error:
        raise _unreachable(error) from error
    if value.item() != world_size * (world_size - 1) / 2:
        raise HandshakeTimeout(
            f"handshake: the sum over ranks is {value.item():g}; two runs share one address?"
        )


def _unreachable(error: RuntimeError) -> HandshakeTimeout:
    return HandshakeTimeout(
        f"handshake: all ranks signed in, but data does not get through between them; check that network "
        f"policies and firewalls let the workers reach each other on all ports ({error})"
    )
