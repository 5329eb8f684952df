"""A stage as a child process: exit code, output file and last line."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.demo import stages
from deploy.demo.stage_process import last_line, run_stage
from deploy.demo.stages import DemoStage


@pytest.mark.parametrize(("code", "text"), [(0, "done"), (3, "wrong")])
def test_output_and_exit_code_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, text: str
) -> None:
    """The child writes to both streams, without colours or questions."""
    program = (
        "import os\n"
        "def main():\n"
        "    print(os.environ['SOLO_PLAIN'], repr(sys.stdin.read()), flush=True)\n"
        "    sys.stderr.write(sys.argv[1] + '\\n')\n"
        f"    sys.exit({code})\n"
        "0"
    )
    monkeypatch.setitem(stages.PROGRAMS, "solo-fake", program)
    stage = DemoStage("fake", "Fake", "solo-fake", (text,), tmp_path)
    output = tmp_path / "output" / "fake.txt"
    shown: list[str] = []
    assert run_stage(stage, output, shown.append) == code
    assert output.read_text() == f"1 ''\n{text}\n"
    assert last_line(output) == text


@pytest.mark.parametrize(
    ("content", "line"),
    [("", ""), ("one\ntwo\n\n", "two"), ("10 %\r20 %", "20 %"), ("x" * 9000 + "\nend", "end")],
)
def test_the_last_line_has_text(tmp_path: Path, content: str, line: str) -> None:
    path = tmp_path / "output.txt"
    path.write_text(content, newline="")
    assert last_line(path) == line
