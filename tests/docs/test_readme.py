"""The main page is short, and its command and animation are usable."""

from __future__ import annotations

from .markdown import FENCE, ROOT

README = (ROOT / "README.md").read_text()
LARGEST_ANIMATION = 1_500_000
"""Limit for the size of the first screen [bytes]."""


def test_readme_has_at_most_800_words() -> None:
    assert len(README.split()) <= 800


def test_the_page_of_the_deployment_is_short() -> None:
    """Details are in deploy/docs."""
    assert len((ROOT / "deploy" / "README.md").read_text().split()) < 900


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


STUDY = {
    "DOI, `eps` 0 (imitation)": "eps 0",
    "DOI, `eps` 1": "eps 1",
    "**DOI, `eps` 2**": "eps 2",
    "DOI, `eps` 4": "eps 4",
    "SMODICE with skills": "sigma 1",
}
"""Rows of the main page, and the matching groups of the study with three runs."""


def cells(row: str) -> list[str]:
    """Split a row of a table."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def test_results_are_those_of_the_study() -> None:
    """The page shows medians, rounded to whole percent."""
    results = (ROOT / "solo_doi" / "docs" / "results.md").read_text()
    for method, group in STUDY.items():
        (shown,) = [row for row in README.splitlines() if row.startswith(f"| {method} |")]
        (full,) = [row for row in results.splitlines() if row.startswith(f"| {group} | 3 |")]
        # Columns: runs, return, worst skill, ratio l1, per trajectory, SF l2, height, named, ...
        medians = [float(cell.split(" ")[0]) for cell in cells(full)[1:]]
        expected = [medians[1], medians[2], 100 * medians[7], medians[10]]
        found = [float(cell.strip("*")) for cell in cells(shown)[1:]]
        assert found == [round(number) for number in expected], method
