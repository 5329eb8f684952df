"""What every test of the trainer needs cleaned up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def denormal_numbers() -> Iterator[None]:
    """Bring back denormal numbers: a trainer flushes them to zero for the whole process, other tests draw them."""
    yield
    torch.set_flush_denormal(False)
