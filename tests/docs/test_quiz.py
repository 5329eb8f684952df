"""The quiz of CONTRIBUTING.md has twenty questions, each answered by a symbol of a module."""

from __future__ import annotations

import re

from .markdown import ROOT, links

ROW = re.compile(r"^\| (\d+) \| (.+\?) \| (.+) \|$", re.MULTILINE)


def test_quiz_has_twenty_answers() -> None:
    """`test_links.py` checks that every linked module defines its symbol."""
    rows = ROW.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert [int(number) for number, _, _ in rows] == list(range(1, 21))
    for _, question, answer in rows:
        (target,) = links(answer)
        file, _, symbol = target.partition("#")
        assert file.endswith(".py"), question
        assert answer.startswith(f"[`{symbol}`]("), question
