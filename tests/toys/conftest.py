"""Commands in a working directory of their own."""

from tests.compatibility.conftest import run

__all__ = ["run"]
