"""Stages of the demonstration: the commands that a user would type, in their order."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from solo_doi.common.child_python import program_command
from solo_doi.runs.run_files import RunFiles

PROGRAMS = {
    "solo-collect": "from collect.cli.collect import main",
    "solo-train": "from solo_doi.cli.train import train_main as main",
    "solo-eval": "from solo_doi.cli.evaluate import main",
    "solo-export": "from solo_doi.cli.export import main",
    "solo-deploy": "from deploy.cli.deploy import main",
}
"""Import of each command. Stages are separate processes, so nothing is imported here."""


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """Settings of the demonstration."""

    out: Path = Path("demo")
    """Directory for everything that the demonstration makes."""
    seed: int = 1
    """Seed of collection and training."""
    scale: float = 0.25
    """Size of the datasets, as a share of the paper's two million transitions."""
    seconds: float = 10.0
    """Duration of each skill's walk in its dry run [s]."""


@dataclass(frozen=True)
class DemoStage:
    """One command of the demonstration."""

    name: str
    """Short name, also of its output file."""
    title: str
    program: str
    """Command, such as solo-train."""
    arguments: tuple[str, ...]
    artefact: Path
    """File or folder that the stage makes. It is removed before the stage starts again."""
    after: str | None = None
    """DemoStage whose artefact this one reads."""
    resume: tuple[str, ...] = ()
    """Arguments that continue a stage that was interrupted; none if it starts again."""
    resumed_from: Path | None = None
    """File or folder without which a stage cannot be continued."""
    optional: bool = False
    """The demonstration continues if the stage fails: its failure is a result to show."""

    @property
    def line(self) -> str:
        """Command as a user would type it."""
        return " ".join((self.program, *self.arguments))

    def child_command(self) -> list[str]:
        """Return the command of the child process."""
        return program_command(f"{PROGRAMS[self.program]}; main()", *self.arguments)

    @property
    def can_resume(self) -> bool:
        """True if an earlier process left something to continue."""
        return self.resumed_from is not None and self.resumed_from.exists()

    def continued(self) -> DemoStage:
        """Return the stage with the arguments that continue it."""
        return replace(self, arguments=self.resume)


def training_stages(config: DemoConfig) -> list[DemoStage]:
    """Return the stages from data to a bundle."""
    data = config.out / "locomotion"
    files = files_of(config)
    run = files.folder
    seed = ("--seed", str(config.seed))
    collecting = ("--task", "locomotion", "--scale", f"{config.scale:g}", *seed, "--out", str(data))
    training = ("--data", str(data / "coverage"), "--expert", str(data / "demonstrations"))
    return [
        DemoStage(
            "collect",
            "Collect walks of the shipped checkpoints in random domains",
            "solo-collect",
            collecting,
            data,
            resume=collecting,
            resumed_from=data,
        ),
        DemoStage(
            "train",
            "Learn five skills from the walks, offline",
            "solo-train",
            (*training, *seed, "--torch-threads", "2", "--out", str(run)),
            run,
            after="collect",
            resume=("--resume", str(run)),
            resumed_from=files.config,
        ),
        DemoStage(
            "evaluate",
            "Let every skill walk in MuJoCo and measure it",
            "solo-eval",
            (str(run),),
            files.evaluation_report,
            after="train",
        ),
        DemoStage(
            "export",
            "Write the skills as one file for the robot",
            "solo-export",
            (str(run),),
            files.bundle,
            after="evaluate",
        ),
    ]


def dry_run(config: DemoConfig, skill: int) -> DemoStage:
    """Return the dry run of a skill: two processes and LCM, as on the robot."""
    folder = dry_run_folder(config, skill)
    return DemoStage(
        dry_run_name(skill),
        f"Dry run of skill {skill}: the robot's two processes, simulated motors",
        "solo-deploy",
        (
            *("--bundle", str(files_of(config).bundle), "--skill", str(skill)),
            *("--headless", "--fast", "--seconds", f"{config.seconds:g}", "--out", str(folder)),
        ),
        folder,
        after="export",
        optional=True,
    )


def files_of(config: DemoConfig) -> RunFiles:
    """Return the files of the run."""
    return RunFiles(config.out / "run")


def output_of(out: Path, name: str) -> Path:
    """Return the file with the output of a stage."""
    return out / "output" / f"{name}.txt"


def dry_run_name(skill: int) -> str:
    """Return the name of the stage that is the dry run of a skill."""
    return f"skill-{skill}"


def dry_run_folder(config: DemoConfig, skill: int) -> Path:
    """Return the folder of a skill's dry run."""
    return config.out / "dry-runs" / dry_run_name(skill)


def stage_key(stage: DemoStage, before: str, software: dict[str, str]) -> str:
    """Return a hash of everything that decides a stage's result: command, software, stage before.

    Commands are repeatable, so an artefact with the same key would be made again bit by bit.
    """
    content = json.dumps([stage.line, before, software], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
