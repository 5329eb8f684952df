"""What every test of training needs set, and cleaned up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)  # as in training: with more, small networks spend their time waiting for other threads


@pytest.fixture(autouse=True)
def denormal_numbers() -> Iterator[None]:
    """Bring back denormal numbers: training flushes them to zero for the whole process, other tests draw them."""
    yield
    torch.set_flush_denormal(False)
