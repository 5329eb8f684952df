"""The main page is short, and its command and animation are usable."""

from __future__ import annotations

from .markdown import FENCE, ROOT

README = (ROOT / "README.md").read_text()
LARGEST_ANIMATION = 1_500_000
"""Bytes that a reader loads with the first screen."""


def test_readme_has_at_most_800_words() -> None:
    assert len(README.split()) <= 800


def test_test_command_is_one_line() -> None:
    """CI evaluates the line that follows the marker."""
    after = README.split("<!-- test-command -->\n")
    assert len(after) == 2
    block = FENCE.match(after[1])
    assert block is not None
    language, commands = block.groups()
    assert language == "bash"
    (command,) = commands.strip().splitlines()
    assert command.startswith("python3 -m venv .venv && ")


def test_animation_is_small() -> None:
    animation = ROOT / "solo_doi" / "docs" / "skills.webp"
    assert "(solo_doi/docs/skills.webp)" in README
    assert 10_000 < animation.stat().st_size < LARGEST_ANIMATION
