"""Kubernetes quantities such as 500m, 2 or 4Gi, exactly (API machinery, `resource.Quantity`)."""

import re
from decimal import Decimal
from typing import Final

_QUANTITY: Final = re.compile(
    r"(?P<number>\+?(\d+(\.\d*)?|\.\d+))(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?"
)
_DECIMAL: Final = {suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("num_kMGTPE", start=-3)}
_BINARY: Final = {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)}


def parse_quantity(value: object) -> Decimal | None:
    """Cores or bytes; None for what is no quantity, negative ones included.

    The client library's parser would do, but it takes `Infinity` for a quantity, and loading it would add
    a second to every preview.
    """
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return None
    scale = (_DECIMAL | _BINARY).get(found["suffix"], Decimal(1))
    return Decimal(found["number"]) * scale * Decimal(10) ** int(found["exponent"] or 0)
