"""A checkout with as little in it as images are made of."""

from pathlib import Path

import pytest

FILES = {
    "trainer/__init__.py": "",
    "trainer/__main__.py": "print('trainer')\n",
    "trainer/data/order.py": "ORDER = 1\n",
    "locks/trainer.txt": "numpy==2.4.6 --hash=sha256:00\n",
    "images/base/Containerfile": "ARG BASE=scratch\nFROM ${BASE}\n",
    "images/trainer/Containerfile": (
        "ARG BASE\nFROM ${BASE}\nENV A=1\n"
        "COPY packages /opt/packages\nCOPY trainer /opt/code/trainer\n"
        'USER 10001:10001\nENTRYPOINT ["python", "-m", "trainer"]\n'
    ),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
