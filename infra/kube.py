"""A Kubernetes API as plain dictionaries: what the commands and the provider plugin read from a cluster.

The client library is loaded where it is first used: it takes more than a second, which `--help` must not.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from infra.errors import TrainyardError

REQUEST_TIMEOUT_SECONDS = (3, 20)
PATIENCE_SECONDS = 60.0
PATIENCE_PAUSE_SECONDS = 1.0
NOT_FOUND, TOO_MANY_REQUESTS, INTERNAL_ERROR = 404, 429, 500
CONTENT_TYPES = {"PATCH": "application/merge-patch+json", "POST": "application/json"}

T = TypeVar("T")


class ApiError(TrainyardError):
    """The API server refused a request with `status`, or did not answer (status 0)."""

    def __init__(self, message: str, *, status: int = 0, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.status = status

    @property
    def passing(self) -> bool:
        """Whether the same request may well succeed in a moment."""
        return self.status in (0, TOO_MANY_REQUESTS) or self.status >= INTERNAL_ERROR


class Cluster:
    """One cluster, reached through a kubeconfig file; raises `TrainyardError` when it does not answer."""

    def __init__(self, kubeconfig: Path) -> None:
        from kubernetes import client, config
        from kubernetes.config.config_exception import ConfigException

        settings = client.Configuration()
        try:
            config.load_kube_config(str(kubeconfig), client_configuration=settings)
        except (ConfigException, OSError) as error:
            raise TrainyardError(f"{kubeconfig}: {error}", next_step="trainyard cluster up") from None
        settings.retries = False
        self._api = client.ApiClient(settings)

    def get(self, path: str) -> dict[str, Any] | None:
        """The object at an API path such as /api/v1/namespaces/x, or None."""
        try:
            return dict(json.loads(self._call("GET", path)))
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def list(self, path: str, *, labels: str = "", fields: str = "") -> list[dict[str, Any]]:
        """The objects below a collection's path; an absent collection is empty."""
        selectors = (("labelSelector", labels), ("fieldSelector", fields))
        try:
            return list(json.loads(self._call("GET", path, query=[s for s in selectors if s[1]]))["items"])
        except ApiError as error:
            if error.status == NOT_FOUND:
                return []
            raise

    def patch(self, path: str, change: dict[str, Any]) -> None:
        """Merge a change into the object at the path."""
        self._call("PATCH", path, body=change)

    def try_create(self, path: str, item: dict[str, Any]) -> None:
        """Let the API server judge an object, its webhooks included, without creating it (`dryRun`)."""
        self._call("POST", path, query=[("dryRun", "All")], body=item)

    def log_lines(self, namespace: str, pod: str, *, container: str, follow: bool = False) -> Iterator[str]:
        """The lines that a container has written; with `follow`, until it ends."""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        query = [("container", container), *([("follow", "true")] if follow else [])]
        timeout = (3, None) if follow else REQUEST_TIMEOUT_SECONDS
        rest = b""
        with _explained(path):
            for chunk in self._open("GET", path, query=query, timeout=timeout).stream(8192):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (line.decode("utf-8", "replace") for line in lines)
        if rest:
            yield rest.decode("utf-8", "replace")

    def _call(self, method: str, path: str, *, query: Any = (), body: Any = None) -> str:
        with _explained(path):
            answer = self._open(method, path, query=query, body=body, timeout=REQUEST_TIMEOUT_SECONDS)
            return str(answer.data.decode())

    def _open(self, method: str, path: str, *, query: Any, timeout: Any, body: Any = None) -> Any:
        content = {"Content-Type": CONTENT_TYPES[method]} if method in CONTENT_TYPES else {}
        return self._api.call_api(
            path,
            method,
            query_params=list(query),
            header_params={"Accept": "application/json", **content},
            body=body,
            auth_settings=["BearerToken"],
            response_type=None,
            _preload_content=False,
            _return_http_data_only=True,
            _request_timeout=timeout,
        )


def patiently(
    look: Callable[[], T],
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """What `look` returns, asked again for a while where the API server does not answer or is overloaded."""
    deadline = clock() + PATIENCE_SECONDS
    while True:
        try:
            return look()
        except ApiError as error:
            if not error.passing or clock() >= deadline:
                raise
        pause(PATIENCE_PAUSE_SECONDS)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn the client's errors, also those of reading an answer, into `ApiError`."""
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except (ApiException, HTTPError) as error:
        raise _as_error(error, path) from None


def _as_error(error: Exception, path: str) -> "ApiError":
    status = getattr(error, "status", None)
    if status:
        return ApiError(
            f"{path}: the API server answered {status}: {getattr(error, 'reason', '')}", status=status
        )
    reason = " ".join(str(getattr(error, "reason", "") or type(error).__name__).split())
    return ApiError(f"the cluster does not answer: {reason}", next_step="trainyard cluster status")


def jobset_path(namespace: str, name: str = "") -> str:
    """The API path of a team's JobSets, or of one."""
    return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets" + (f"/{name}" if name else "")


def condition(item: dict[str, Any] | None, kind: str) -> dict[str, Any] | None:
    """The object's status condition of a type, if it is True."""
    conditions = ((item or {}).get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == kind and c["status"] == "True"), None)
