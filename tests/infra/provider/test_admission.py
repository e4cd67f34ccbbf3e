"""What webhooks judge is created only once they answer; a refusal is an error at once."""

from typing import Any, cast

import pytest

from infra.errors import TrainyardError
from infra.kube import ApiError, Cluster
from infra.provider.admission import wait_until_admitted


class Api:
    """Answers each attempt with the next of `answers`, the last one for ever; time passes with each pause."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.attempts = 0
        self.now = 0.0

    def try_create(self, path: str, item: dict[str, Any]) -> None:
        status = self.answers[min(self.attempts, len(self.answers) - 1)]
        self.attempts += 1
        if status != 201:
            raise ApiError(f"{path}: answered {status}", status=status)

    def pause(self, seconds: float) -> None:
        self.now += seconds


def wait(api: Api) -> None:
    wait_until_admitted(
        cast(Cluster, api), "/apis/x", {}, timeout_seconds=5, clock=lambda: api.now, pause=api.pause
    )


def test_silent_webhooks_are_waited_for() -> None:
    api = Api(500, 0, 503, 201)
    wait(api)
    assert api.attempts == 4


def test_webhooks_that_stay_silent_fail_with_the_servers_words() -> None:
    with pytest.raises(TrainyardError, match=r"/apis/x did not answer within 5 s: .*answered 500"):
        wait(Api(500))


@pytest.mark.parametrize("status", [403, 404, 422])
def test_another_error_is_no_silence(status: int) -> None:
    api = Api(status)
    with pytest.raises(ApiError):
        wait(api)
    assert api.attempts == 1
