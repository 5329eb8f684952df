"""The documents say what the code does."""

from __future__ import annotations

from pathlib import Path

from deploy.state_machine import diagram

README = Path(__file__).parents[2] / "deploy" / "README.md"


def test_the_diagram_is_made_from_the_table() -> None:
    """A state machine that is drawn by hand drifts from the one that runs."""
    assert f"```mermaid\n{diagram()}\n```" in README.read_text()
