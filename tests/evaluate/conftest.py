"""Tiny runs of solo-train, and their evaluation."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from solo_doi.cli.evaluate import main
from solo_doi.cli.train import train
from solo_doi.common import command_line
from solo_doi.common.errors import MissingPackageError
from solo_doi.evaluate import selection
from solo_doi.evaluate import write_evaluation as write_module
from solo_doi.evaluate.metrics import skill_diversity as diversity
from solo_doi.evaluate.report import motion_pictures as pictures
from solo_doi.evaluate.report import side_by_side
from solo_doi.evaluate.report.render import render
from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.runs.run_config import TrainCommand
from solo_doi.solo12.observation import LAYOUTS
from tests.algorithm.runs import EXPERT_TERMS, FLAGS, write_made_up
from tests.command import Command
from tests.compiled_umap import compile_umap

from .recordings import walking
from .walks import MAPPED, RollOuts, stand_in

FEW = ("--episodes", "4", "--steps", "100")
"""Flags of the smallest evaluation that is accepted."""
FEW_TRANSFERRED = ("--transfer-episodes", "4", "--estimator-episodes", "2")
"""Few rollouts per condition of the transfer table."""


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up datasets in which states look like the locomotion task's."""
    folder = tmp_path_factory.mktemp("data")
    terms = {term.name: term.size for term in LAYOUTS["locomotion"].terms}
    write_made_up(folder / "coverage", terms=terms)
    write_made_up(
        folder / "demonstrations", terms=EXPERT_TERMS, lengths=((20, 30),), actions=False, seed=1
    )
    return folder


Train = Callable[..., Path]


@pytest.fixture(scope="session")
def train_tiny(data: Path) -> Train:
    """Train a run of a second or less; flags as of solo-train."""

    def train_tiny(out: Path, *flags: str) -> Path:
        command = command_line.parse(TrainCommand, "solo-train", [*FLAGS, *flags])
        return train(
            replace(command, out=out, data=data / "coverage", expert=data / "demonstrations")
        )

    return train_tiny


@pytest.fixture(scope="session")
def trained(train_tiny: Train, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with three skills and two checkpoints; nothing is written to it."""
    return train_tiny(tmp_path_factory.mktemp("trained") / "run")


@pytest.fixture(scope="session")
def trained_alone(train_tiny: Train, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a single skill; nothing is written to it."""
    return train_tiny(tmp_path_factory.mktemp("alone") / "alone", "--objective", "smodice")


@pytest.fixture
def roll_outs(monkeypatch: pytest.MonkeyPatch) -> RollOuts:
    """Made-up recordings instead of a simulator, and a list of the requests."""
    return stand_in(monkeypatch.setattr)


@pytest.fixture(autouse=True)
def fresh_expert() -> None:
    """Clear the cache of the expert's rollouts between tests."""
    write_module.expert_walk.cache_clear()


@pytest.fixture
def no_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace UMAP, which takes long, by points of a few robots."""
    monkeypatch.setattr(write_module, "EXPERT_ROBOTS", MAPPED)

    def points(
        expert: np.ndarray, others: list[np.ndarray], scale: np.ndarray, seed: int = 0
    ) -> list[np.ndarray]:
        return [np.array(features[:, :2]) for features in (expert, *others)]

    monkeypatch.setattr(diversity, "embed", points)


@pytest.fixture(scope="session")
def umap() -> None:
    """UMAP, compiled for this process."""
    compile_umap()


@pytest.fixture
def no_film(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace rendering, which takes long, by any picture."""

    def filmstrip(recordings: dict[str, Recording], path: Path) -> None:
        plt.imsave(path, np.zeros((len(recordings), 4, 3)))

    def animate(recordings: dict[str, Recording], path: Path) -> Path:
        plt.imsave(path.with_suffix(".png"), np.zeros((len(recordings), 4, 3)))
        return path.with_suffix(".png")

    monkeypatch.setattr(pictures, "filmstrip", filmstrip)
    monkeypatch.setattr(side_by_side, "animate", animate)


@pytest.fixture
def no_figures(no_film: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace films and figures, whose layout takes long, by small files of the same names."""

    def savefig(figure: Figure, path: Path, *, format: str, dpi: int) -> None:
        if format == "png":
            plt.imsave(path, np.zeros((1, 4, 3)), format=format)
        else:
            Path(path).write_text("<svg/>")

    monkeypatch.setattr(Figure, "savefig", savefig)


Evaluate = Callable[..., tuple[int, str, str]]


@pytest.fixture
def solo_eval(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """Run the command in this process; return exit code, output and errors."""
    return Command("solo-eval", main, monkeypatch, capsys)


@pytest.fixture(scope="session")
def egl() -> None:
    """Skip the test if rendering without a screen is not possible."""
    try:
        render(walking("trot", steps=1), 0, np.array([0]), size=(8, 8))
    except MissingPackageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def evaluated(
    train_tiny: Train, egl: None, umap: None, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run after `solo-eval RUN --select --history`; only the number of robots is reduced."""
    run = train_tiny(tmp_path_factory.mktemp("evaluated") / "tiny <b>bold</b>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write_module, "EXPERT_ROBOTS", 20)
        if importlib.util.find_spec("pybullet") is None:  # newer Pythons have none
            mujoco = tuple(
                condition for condition in selection.CONDITIONS if condition[0] == "mujoco"
            )
            patch.setattr(selection, "CONDITIONS", mujoco)
        wanted = [*FEW, "--select", "--history", *FEW_TRANSFERRED]
        patch.setattr(sys, "argv", ["solo-eval", str(run), *wanted])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
    return run
