"""The language host for Python programs, used only where the official one is absent."""

from typing import Final

from infra.versions import PULUMI

HOST_VERSION: Final = PULUMI.removeprefix("v")
MAX_MESSAGE_BYTES: Final = 400 * 1024 * 1024
CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
)
