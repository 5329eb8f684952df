"""solo-train refuses invalid settings and data with one line and writes no files."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from solo_doi.data.d4rl import write_d4rl
from tests.algorithm.runs import EXPERT_TERMS, FLAGS, arrays_of, write_made_up
from tests.data.datasets import made_up_transitions

from .solo_train import SoloTrain


def foreign(path: Path, **changes: object) -> Path:
    """Write a D4RL file with some arrays changed or removed."""
    write_d4rl(path, made_up_transitions((30, 40, 20)))
    with h5py.File(path, "a") as file:
        for name, value in changes.items():
            del file[name]
            if value is not None:
                file[name] = value
    return path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--data nowhere",
            "nowhere: no such file or directory. Expected a dataset directory, a D4RL file,",
        ),
        ("--expert nowhere", "nowhere: no such file or directory."),
        (
            "--data datasets/locomotion/demonstrations",
            "coverage data have no actions, which training needs",
        ),
        ("--task gym", "datasets/gym/coverage: no such directory. Name data with --data."),
        (
            "--projection linear_velocty",
            "'linear_velocty'. Did you mean 'linear_velocity'? Known: angular_velocity",
        ),
        ("--projection linear_velocity.w", "linear_velocity of the coverage data has 3 numbers"),
        (
            "--projection gravity",
            "Unknown observation term of the expert data 'gravity'. Known: angular_velocity,",
        ),
        ("--discriminator.terms", "discriminator.terms is (): expected one term or more."),
        (
            "--multipliers fixed",
            "'fixed': expected --multipliers learned or --multipliers fixed:0.5.",
        ),
        ("--multipliers learnd", "'learnd': expected --multipliers learned or"),
        (
            "--multipliers fixed:1.5",
            "multipliers is fixed:1.5: expected a fixed sigma between 0 and 1.",
        ),
        (
            "--objective smodise",
            "'smodise': expected --objective doi, smodice, clusters or unconstrained:0.5.",
        ),
        ("--objective unconstrained:much", "'unconstrained:much': expected --objective"),
        (
            "--objective unconstrained:inf",
            "objective is unconstrained:inf: expected a finite weight.",
        ),
        ("--eps -1", "eps is -1.0: expected 0 or more."),
        ("--eps=-0.5", "eps is -0.5: expected 0 or more."),
        ("--eps nan", "eps is nan: expected a finite number."),
        ("--skills 1", "skills is 1: expected 2 or more; smodice needs 1."),
        ("--seed -1", "seed is -1: expected 0 or more"),
        ("--outer 0", "outer is 0: expected 1 or more."),
        ("--value.hidden 0", "value.hidden is 0: expected 1 or more."),
        ("--policy.lr 0", "policy.lr is 0.0: expected above 0."),
        ("--torch-threads 0", "torch_threads is 0: expected 1 or more."),
        (
            "--policy.entropy True",
            "policy.entropy is True: expected off unless policy.squashed is on.",
        ),
        ("--data-pull 0 --multipliers fixed:0", "data_pull 0 with sigma 0"),
        (
            "--preset papr",
            "Unknown preset 'papr'. Did you mean 'paper'? Known: 0.1, default, gym-exact, paper.",
        ),
        ("--preset=papr", "Unknown preset 'papr'. Did you mean 'paper'?"),
        (
            "--task lokomotion",
            "Unknown task 'lokomotion'. Did you mean 'locomotion'? Known: ant, gym, halfcheetah, "
            "hopper, locomotion, navigation, walker2d.",
        ),
        ("--device gpu", "device 'gpu': expected cpu, cuda or auto."),
        ("--device cuda", "device cuda: PyTorch finds no CUDA device here. Use --device cpu."),
        ("--config nowhere.yaml", "nowhere.yaml: No such file or directory. Expected a YAML file."),
    ],
)
def test_invalid_runs_are_refused_in_one_line(
    command: SoloTrain, here: Path, monkeypatch: pytest.MonkeyPatch, words: str, message: str
) -> None:
    """The line contains the value found and the values expected; no run directory is left."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert message in command.error(*FLAGS, "--out", "run", *words.split())
    assert [path.name for path in here.iterdir()] == ["datasets"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("outre: 3", "settings.yaml: Unknown setting 'outre'. Did you mean 'outer'?"),
        ("value: {updates: many}", "settings.yaml: value: updates: expected int, found 'many'"),
        ("preset: papr", "Unknown preset 'papr'. Did you mean 'paper'?"),
        ("task: humanoid", "Unknown task 'humanoid'. Known: ant, gym, halfcheetah, hopper, "),
        (
            "divergence: chi",
            "settings.yaml: divergence: expected typing.Literal['kl', 'chi2'], found 'chi'",
        ),
        ("eps: [", "settings.yaml: not valid YAML"),
        ("- eps", "settings.yaml: expected names with values, found ['eps']"),
    ],
)
def test_a_bad_file_is_refused(command: SoloTrain, content: str, message: str) -> None:
    """Misspelt settings must not fall back to their defaults."""
    Path("settings.yaml").write_text(content)
    code, _, errors = command(*FLAGS, "--config", "settings.yaml", "--out", "run")
    assert (code, "Traceback" in errors) == (1, False)
    assert message in errors
    assert not Path("run").exists()


def test_data_that_are_not_numbers_are_refused(command: SoloTrain) -> None:
    """NaN and infinity are found in states and actions, of coverage and expert data."""
    good = foreign(Path("good.h5"))
    states = arrays_of(good)["observations"]
    states[5, 1] = np.nan
    bad = foreign(Path("bad.h5"), observations=states)
    actions = foreign(Path("actions.h5"), actions=np.full((90, 2), np.inf, np.float32))
    for data, expert, message in (
        (bad, good, "bad.h5: observations of transition 5 are not finite."),
        (good, bad, "bad.h5: observations of transition 5 are not finite."),
        (actions, good, "actions.h5: actions of transition 0 are not finite."),
        (foreign(Path("none.h5"), actions=None), good, "none.h5: The coverage data have no"),
        (good, foreign(Path("cut.h5"), timeouts=None), "cut.h5: has no 'timeouts'"),
    ):
        flags = (*FLAGS, "--task", "gym", "--data", data, "--expert", expert, "--out", "run")
        assert message in command.error(*flags)
        assert not Path("run").exists()


def test_missing_data_are_reported_with_the_command_that_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first call without flags in an empty folder names the command that makes datasets."""
    monkeypatch.chdir(tmp_path)
    assert SoloTrain(monkeypatch, capsys).error() == (
        "datasets/locomotion/coverage: no such directory. Run `solo-collect --task locomotion` "
        "here first, or name "
        "data with --data."
    )
    assert list(tmp_path.iterdir()) == []


def test_expert_data_of_another_robot_are_refused(command: SoloTrain) -> None:
    """A term has the same name but fewer numbers."""
    write_made_up(Path("other"), terms=EXPERT_TERMS | {"linear_velocity": 2}, actions=False)
    message = command.error(
        *FLAGS, "--projection", "linear_velocity", "--expert", "other", "--out", "run"
    )
    assert "linear_velocity: 3 numbers in the coverage data, 2 in the expert data." in message
    assert not Path("run").exists()


def test_a_wrong_flag_or_value_stops_the_command(command: SoloTrain) -> None:
    """The exit code is 2, as for other commands, and no run directory is left."""
    for words in (("--epz", "1"), ("--eps", "much"), ("--divergence", "chi")):
        code, _, errors = command(*FLAGS, *words, "--out", "run")
        assert code == 2
        assert words[0] in errors
        assert not Path("run").exists()


def test_a_directory_that_exists_is_not_trained_into(command: SoloTrain) -> None:
    """The existing run would be lost."""
    run = command.run()
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert command.error(*FLAGS, "--out", "run") == (
        "run: exists already. Choose another --out, or continue it with --resume run."
    )
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
