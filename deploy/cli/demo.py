"""solo-demo: from the shipped checkpoints to skills that walk, in one command."""

from __future__ import annotations

import os
import webbrowser
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.demo.stages import DemoConfig
from solo_doi.common.command_line import Command, Program
from solo_doi.common.errors import one_line
from solo_doi.common.settings import part_of
from solo_doi.common.steps import show_next

if TYPE_CHECKING:
    from deploy.demo.demo_result import DemoResult


@dataclass(frozen=True, kw_only=True)
class DemoCommand(DemoConfig):
    """Collect walks, learn five skills from them, measure them, and let each walk in a dry run.

    No GPU, network or display is needed. A second run reuses what is still valid; an interrupted
    one is continued. The exit code is 0 if every skill walked in its dry run.

    Examples:
      solo-demo                        a quarter of the data of the paper
      solo-demo --seed 7 --out demo7   other walks, other skills
      solo-demo --scale 0.02           a quick look; too few data for good skills
    """

    open: bool = True
    """Open the report in a browser, if there is a display."""


def main() -> None:
    """Run solo-demo; errors that the user can correct are one line."""
    with one_line("solo-demo", "Run the same command again to continue."):
        PROGRAM.run()


def demo(command: DemoCommand) -> int:
    """Run the demonstration; return 0 if every skill walked."""
    from deploy.demo.demo import run_demo  # heavy imports

    result = run_demo(part_of(command, DemoConfig))
    show(result)
    if command.open and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(result.report.resolve().as_uri())
    return 0 if result.good else 1


def show(result: DemoResult) -> None:
    """Print dry runs, verdict and artefacts, and the commands that usually follow."""
    from rich.console import Console

    console = Console()
    console.print(result.table())
    for sentence in result.verdict:
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)
    print(f"report: {result.report}")
    print(f"bundle: {result.bundle}")
    walked = next((walk.skill for walk in result.walks if walk.good), 0)
    show_next(
        f"solo-deploy --bundle {result.bundle} --skill {walked} --headless --view",
        f"solo-deploy view {result.walks[walked].folder}",
        "solo-collect --task locomotion && solo-train",
    )


PROGRAM = Program("solo-demo", lambda: Command(DemoCommand, demo))
