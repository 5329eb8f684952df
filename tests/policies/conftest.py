"""A bundle to read, and to spoil."""

from __future__ import annotations

from pathlib import Path

import pytest

from .bundles import write


@pytest.fixture(scope="package")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A good bundle."""
    return write(tmp_path_factory.mktemp("good") / "skills.onnx").read_bytes()


@pytest.fixture
def path(content: bytes, tmp_path: Path) -> Path:
    """A good bundle as a file, to be spoiled."""
    path = tmp_path / "skills.onnx"
    path.write_bytes(content)
    return path
