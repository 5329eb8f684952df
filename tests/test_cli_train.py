"""solo-train: what it makes, how it ends, and that a killed run continues to the same bytes."""

from __future__ import annotations

import dataclasses
import functools
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
import yaml

from solo_doi import config as configuration
from solo_doi.algorithm.config import TrainConfig
from solo_doi.algorithm.presets import preset
from solo_doi.cli import RunConfig, TrainCommand, train, train_main
from solo_doi.data.d4rl import write_d4rl
from solo_doi.metrics_log import METRICS_FILE
from solo_doi.policies.skills import SkillPolicy
from tests.algorithm.runs import (
    EXPERT_TERMS,
    FLAGS,
    arrays_of,
    assert_same_run,
    metrics_of,
    summary_of,
    tiny,
    write_made_up,
    write_made_up_task,
)
from tests.data.datasets import made_up_transitions
from tests.disks import no_file_above, read_only

PATIENCE = 60.0
OUTER = 24
LONG = ("--outer", str(OUTER), "--save-every", "5", "--checkpoints", "3", "--policy.updates", "200")
"""Long enough to be killed in the middle."""


class Command:
    """Runs `solo-train` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Take over arguments and output."""
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Return exit code, output and errors."""
        self._monkeypatch.setattr(sys, "argv", ["solo-train", *map(str, arguments)])
        code: object = 0
        try:
            train_main()
        except SystemExit as end:
            code = end.code
        output = self._capsys.readouterr()
        assert isinstance(code, int | None)
        return code or 0, output.out, output.err

    def run(self, *arguments: object, out: str = "run") -> Path:
        """Train a tiny run; return its directory."""
        code, _, errors = self(*FLAGS, *arguments, "--out", out)
        assert code == 0, errors
        return Path(out)

    def error(self, *arguments: object) -> str:
        """Return the only line that a refused command prints."""
        code, output, errors = self(*arguments)
        assert code == 1
        assert output == ""
        assert errors.startswith("solo-train: ")
        assert errors.count("\n") == 1
        return errors.removeprefix("solo-train: ").strip()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with made-up datasets of the locomotion task; nothing else is written to it."""
    return write_made_up_task(tmp_path_factory.mktemp("task"))


@pytest.fixture
def here(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with datasets where the command looks for them."""
    (tmp_path / "datasets").symlink_to(task / "datasets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, started in `here`."""
    return Command(monkeypatch, capsys)


# --- A run ---------------------------------------------------------------------------------------


def test_a_run_leaves_its_directory_and_shows_its_skills(command: Command) -> None:
    """Everything that continuing, evaluating or repeating it needs."""
    code, text, progress = command(*FLAGS, "--out", "some/run")
    run = Path("some/run")
    assert code == 0
    assert text.startswith("run: some/run\n")
    assert "effective share" in text
    assert "skills 4/4" in progress
    files = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    events = {name for name in files if name.startswith("tensorboard/events.out.tfevents")}
    assert len(events) == 1
    assert files - events == {
        "config.yaml", "metrics.jsonl", "summary.json", "ratios.h5", "policy.h5", "expert.h5", "provenance.json",
        "state.pt", "expert.pt", "checkpoints/outer_0002.pt", "checkpoints/outer_0004.pt",
    }  # fmt: skip


def test_the_resolved_configuration_repeats_the_run(command: Command) -> None:
    """It is the whole of it, and can be given as --config."""
    run = command.run("--eps", "1.5")
    config = configuration.read(RunConfig, run / "config.yaml")
    assert {field.name: getattr(config, field.name) for field in dataclasses.fields(TrainConfig)} == vars(tiny(eps=1.5))
    assert command("--config", run / "config.yaml", "--out", "again")[0] == 0
    assert_same_run(run, Path("again"))


def test_provenance_says_what_the_run_was_made_from(command: Command) -> None:
    """Sizes and checksums of both datasets, and software."""
    content = json.loads((command.run() / "provenance.json").read_text())
    assert content["data"].keys() == {"transitions", "trajectories", "crc32", "crc32_actions"}
    assert (content["data"]["transitions"], content["data"]["trajectories"]) == (300, 11)
    assert (content["expert"]["transitions"], content["expert"]["trajectories"]) == (50, 2)
    assert content["software"]["torch"] == torch.__version__


def test_without_a_place_the_run_names_its_own(command: Command) -> None:
    """By date and time, below runs/."""
    code, text, _ = command(*FLAGS)
    (run,) = Path("runs").iterdir()
    assert code == 0
    assert text.startswith(f"run: {run}\n")
    assert run.name.startswith("train-2")


def test_foreign_files_can_be_trained_on(command: Command) -> None:
    """D4RL files and the gym task; weights repeat with the seed."""
    write_d4rl(Path("data.h5"), made_up_transitions((30, 40, 20, 60, 50)))
    flags = ("--task", "gym", "--data", "data.h5", "--expert", "data.h5", "--classifier.average", "1")
    run = command.run(*flags)
    assert SkillPolicy.read(run / "policy.h5").observation_size == 4
    assert configuration.read(RunConfig, run / "config.yaml").classifier.terms == ("observation",)
    assert_same_run(run, command.run(*flags, out="again"))
    other = command.run(*flags, "--seed", "2", out="other")
    assert (arrays_of(run / "policy.h5")["head"] != arrays_of(other / "policy.h5")["head"]).any()


def test_flags_may_be_written_either_way(command: Command) -> None:
    """--x=y or --x y, before and after --config, which may have one too."""
    Path("settings.yaml").write_text("preset: paper\nseed: 5\neps: 1\n")
    code, _, _ = command(
        "--eps=3", "--config=settings.yaml", *FLAGS, "--out=run", "--discriminator.terms", "gravity", "linear_velocity"
    )
    assert code == 0
    config = configuration.read(RunConfig, Path("run/config.yaml"))
    assert (config.eps, config.seed, config.outer) == (3.0, 5, 4)
    assert config.policy.in_loop  # of the preset in the file
    assert config.discriminator.terms == ("gravity", "linear_velocity")


@pytest.mark.parametrize(
    "words", [("--preset", "paper"), ("--preset=paper",), ("--preset", "default", "--preset=paper")]
)
def test_the_paper_preset_shrunk_by_flags_runs_through(command: Command, words: tuple[str, ...]) -> None:
    """What flags do not set is as printed; the last of two presets counts."""
    run = command.run(*words)
    config, printed = configuration.read(RunConfig, run / "config.yaml"), preset("paper", "locomotion")
    assert config.policy == replace(printed.policy, updates=5, hidden=8, batch=32)
    assert config.projection == printed.projection
    assert config.diversity_weight == printed.diversity_weight != tiny().diversity_weight
    assert "loss/policy" in metrics_of(run)[0]
    assert not (run / "expert.h5").exists()
    assert SkillPolicy.read(run / "policy.h5").squashed


def test_options_of_the_command_line_reach_training(command: Command) -> None:
    """Each shows in what the run leaves."""
    assert summary_of(command.run("--multipliers", "fixed:0.5", out="fixed"))["sigma"] == [0.5] * 3
    assert len(summary_of(command.run("--objective", "smodice", out="smodice"))["phi"]) == 1
    assert "skills/distance" in metrics_of(command.run("--diversity", "van_der_waals", out="force"))[0]
    assert summary_of(command.run("--objective", "unconstrained:2", out="free"))["skills"] == 3
    assert summary_of(command.run("--divergence", "chi2", "--skills", "4", out="chi2"))["skills"] == 4


def test_help_lists_every_field(command: Command) -> None:
    """Of the run and of all its parts."""
    code, text, _ = command("--help")
    assert code == 0

    def flags(kind: type, prefix: str = "--") -> Iterator[str]:
        for field in dataclasses.fields(kind):
            part = field.default_factory
            if isinstance(part, type) and dataclasses.is_dataclass(part):
                yield from flags(part, f"{prefix}{field.name}.")
            else:
                yield (prefix + field.name).replace("_", "-")

    names = list(flags(TrainCommand))
    assert {"--eps", "--preset", "--resume", "--value.expert-updates", "--policy.in-loop"} <= set(names)
    words = {word.rstrip(",") for word in text.split()}
    assert [name for name in names if name not in words] == []


# --- Refusals ------------------------------------------------------------------------------------


def foreign(path: Path, **changes: object) -> Path:
    """A D4RL file with some arrays changed, or without them."""
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
        ("--data nowhere", "nowhere: no such file or directory. Expected a dataset directory, a D4RL file or"),
        ("--expert nowhere", "nowhere: no such file or directory."),
        ("--data datasets/locomotion/demonstrations", "coverage data have no actions to learn from"),
        ("--task gym", "datasets/gym/coverage: no such directory. Name data with --data."),
        ("--projection linear_velocty", "'linear_velocty'. Did you mean 'linear_velocity'? Known: angular_velocity"),
        ("--projection linear_velocity.w", "linear_velocity of the coverage data has 3 numbers"),
        ("--projection gravity", "Unknown observation term of the expert data 'gravity'. Known: angular_velocity,"),
        ("--discriminator.terms", "discriminator.terms is (): expected one term or more."),
        ("--multipliers fixed", "'fixed': expected --multipliers learned or --multipliers fixed:0.5."),
        ("--multipliers learnd", "'learnd': expected --multipliers learned or"),
        ("--multipliers fixed:1.5", "multipliers is fixed:1.5: expected a fixed sigma between 0 and 1."),
        ("--objective smodise", "'smodise': expected --objective doi, smodice or unconstrained:0.5."),
        ("--objective unconstrained:much", "'unconstrained:much': expected --objective"),
        ("--objective unconstrained:inf", "objective is unconstrained:inf: expected a finite weight."),
        ("--eps -1", "eps is -1.0: expected 0 or more."),
        ("--eps=-0.5", "eps is -0.5: expected 0 or more."),
        ("--eps nan", "eps is nan: expected 0 or more."),
        ("--skills 1", "skills is 1: expected 2 or more; smodice needs 1."),
        ("--seed -1", "seed is -1: expected 0 or more"),
        ("--outer 0", "outer is 0: expected 1 or more."),
        ("--value.hidden 0", "value.hidden is 0: expected 1 or more."),
        ("--policy.lr 0", "policy.lr is 0.0: expected above 0."),
        ("--torch-threads 0", "torch_threads is 0: expected 1 or more."),
        ("--policy.entropy True", "policy.entropy is True: expected off unless policy.squashed is on."),
        ("--data-pull 0 --multipliers fixed:0", "data_pull 0 with sigma 0"),
        ("--preset papr", "Unknown preset 'papr'. Did you mean 'paper'? Known: default, paper."),
        ("--preset=papr", "Unknown preset 'papr'. Did you mean 'paper'?"),
        ("--task lokomotion", "Unknown task 'lokomotion'. Did you mean 'locomotion'? Known: gym, locomotion."),
        ("--device gpu", "device 'gpu': expected cpu, cuda or auto."),
        ("--device cuda", "device cuda: PyTorch finds no CUDA device here. Use --device cpu."),
        ("--config nowhere.yaml", "nowhere.yaml: No such file or directory. Expected a YAML file."),
    ],
)
def test_what_cannot_be_trained_is_one_line_and_leaves_nothing(
    command: Command, here: Path, monkeypatch: pytest.MonkeyPatch, words: str, message: str
) -> None:
    """What was found, what was expected, and no half-made run."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert message in command.error(*FLAGS, "--out", "run", *words.split())
    assert [path.name for path in here.iterdir()] == ["datasets"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("outre: 3", "settings.yaml: Unknown setting 'outre'. Did you mean 'outer'?"),
        ("value: {updates: many}", "settings.yaml: value: updates: expected int, found 'many'"),
        ("preset: papr", "Unknown preset 'papr'. Did you mean 'paper'?"),
        ("task: hopper", "Unknown task 'hopper'. Known: gym, locomotion."),
        ("divergence: chi", "settings.yaml: divergence: expected typing.Literal['kl', 'chi2'], found 'chi'"),
        ("eps: [", "settings.yaml: not valid YAML"),
        ("- eps", "settings.yaml: expected names with values, found ['eps']"),
    ],
)
def test_a_bad_file_is_refused(command: Command, content: str, message: str) -> None:
    """A typing error must not train for an hour with the default."""
    Path("settings.yaml").write_text(content)
    code, _, errors = command(*FLAGS, "--config", "settings.yaml", "--out", "run")
    assert (code, "Traceback" in errors) == (1, False)
    assert message in errors
    assert not Path("run").exists()


def test_data_that_are_not_numbers_are_refused(command: Command) -> None:
    """NaN in states or actions, of coverage or expert."""
    good = foreign(Path("good.h5"))
    states = arrays_of(good)["observations"]
    states[5, 1] = np.nan
    bad = foreign(Path("bad.h5"), observations=states)
    actions = foreign(Path("actions.h5"), actions=np.full((90, 2), np.inf, np.float32))
    for data, expert, message in (
        (bad, good, "bad.h5: observations of transition 5 are not finite."),
        (good, bad, "bad.h5: observations of transition 5 are not finite."),
        (actions, good, "actions.h5: actions of transition 0 are not finite."),
        (foreign(Path("none.h5"), actions=None), good, "none.h5: lacks ['actions']"),
        (good, foreign(Path("cut.h5"), timeouts=None), "cut.h5: has no 'timeouts'"),
    ):
        flags = (*FLAGS, "--task", "gym", "--data", data, "--expert", expert, "--out", "run")
        assert message in command.error(*flags)
        assert not Path("run").exists()


def test_without_data_it_says_how_to_get_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No flags at all, in an empty folder: the first thing a user tries."""
    monkeypatch.chdir(tmp_path)
    assert Command(monkeypatch, capsys).error() == (
        "datasets/locomotion/coverage: no such directory. Run `solo-collect --task locomotion` here first, or name "
        "data with --data."
    )
    assert list(tmp_path.iterdir()) == []


def test_expert_data_of_another_robot_are_refused(command: Command) -> None:
    """A term of the same name with fewer numbers."""
    write_made_up(Path("other"), terms=EXPERT_TERMS | {"linear_velocity": 2}, actions=False)
    message = command.error(*FLAGS, "--projection", "linear_velocity", "--expert", "other", "--out", "run")
    assert "linear_velocity: 3 numbers in the coverage data, 2 in the expert data." in message
    assert not Path("run").exists()


def test_a_wrong_flag_or_value_stops_the_command(command: Command) -> None:
    """Exit code 2, as of any command, and nothing is begun."""
    for words in (("--epz", "1"), ("--eps", "much"), ("--divergence", "chi")):
        code, _, errors = command(*FLAGS, *words, "--out", "run")
        assert code == 2
        assert words[0] in errors
        assert not Path("run").exists()


def test_a_directory_that_exists_is_not_trained_into(command: Command) -> None:
    """Its run would be lost."""
    run = command.run()
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert command.error(*FLAGS, "--out", "run") == (
        "run: exists already. Choose another --out, or continue it with --resume run."
    )
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_only_runs_can_be_continued(command: Command) -> None:
    """Neither nothing nor any other folder."""
    for place in ("nowhere", "datasets"):
        assert command.error("--resume", place) == f"{place}: not a run of solo-train, it has no config.yaml."
    assert not Path("nowhere").exists()


def test_a_run_is_not_continued_with_other_data(command: Command, here: Path, task: Path) -> None:
    """Other states, other actions or another expert; what the run was stays as it was."""
    run = command.run()
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    (here / "datasets").unlink()
    folder = here / "datasets" / "locomotion"
    folder.mkdir(parents=True)
    original = task / "datasets" / "locomotion"
    write_made_up(folder / "coverage", seed=7)
    shutil.copytree(original / "demonstrations", folder / "demonstrations")
    assert "run: began with other data (" in command.error("--resume", run)
    shutil.rmtree(folder / "coverage")
    shutil.copytree(original / "coverage", folder / "coverage")
    shutil.rmtree(folder / "demonstrations")
    write_made_up(folder / "demonstrations", terms=EXPERT_TERMS, actions=False, seed=7)
    assert "run: began with other expert (" in command.error("--resume", run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


# --- Disks ---------------------------------------------------------------------------------------


def test_a_full_disk_ends_the_run_with_one_line_and_it_continues(command: Command) -> None:
    """No matter which file no longer fits."""
    unbroken = command.run(out="unbroken")
    for size, name in ((4_000, "expert.pt"), (12_000, "state.pt")):
        with no_file_above(size):
            code, _, errors = command(*FLAGS, "--out", f"full-{size}")
        assert code == 1
        assert "Traceback" not in errors
        assert f"solo-train: full-{size}/{name}: cannot be written (File too large)." in errors.splitlines()[-1]
        assert command("--resume", f"full-{size}")[0] == 0
        assert_same_run(unbroken, Path(f"full-{size}"))


def test_metrics_that_no_longer_fit_end_the_run_with_one_line(command: Command) -> None:
    """They grow while everything else stays small."""
    flags = (*FLAGS, "--outer", "40", "--save-every", "100", "--checkpoints", "0", "--out", "run")
    with no_file_above(8_000):
        code, _, errors = command(*flags)
    assert code == 1
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == (
        "solo-train: run: metrics cannot be written (File too large). Free space, then continue the run with --resume."
    )


def test_a_read_only_place_is_one_line(command: Command) -> None:
    """With the system's reason."""
    Path("shelf").mkdir()
    with read_only(Path("shelf").resolve()):
        code, _, errors = command(*FLAGS, "--out", "shelf/run")
    assert code == 1
    assert errors.startswith("solo-train: shelf/run/config.yaml: cannot be written (")
    assert errors.count("\n") == 1
    assert list(Path("shelf").iterdir()) == []


# --- Kills ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unbroken(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `LONG` that nothing disturbed."""
    run, data = tmp_path_factory.mktemp("runs") / "unbroken", task / "datasets" / "locomotion"
    command = configuration.from_command_line(TrainCommand, "solo-train", [*FLAGS, *LONG])
    return train(replace(command, out=run, data=data / "coverage", expert=data / "demonstrations"))


Start = Callable[..., ForkServerProcess]


def run_command(folder: Path, arguments: list[str]) -> None:
    """Run `solo-train` in a folder, silently."""
    os.chdir(folder)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.argv = ["solo-train", *arguments]
    train_main()


@pytest.fixture
def start(here: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start the command in a process of its own, forked from one that has imported all it needs."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:resource_tracker")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tyro"])

    def start(*arguments: str) -> ForkServerProcess:
        process = context.Process(target=run_command, args=(here, list(arguments)))
        process.start()
        return process

    return start


def kill_when(process: ForkServerProcess, condition: Callable[[], bool]) -> None:
    """`kill -9` to that process alone once something holds; it must not have ended before."""
    deadline = time.monotonic() + PATIENCE
    while process.exitcode is None and not condition() and time.monotonic() < deadline:
        process.join(0.002)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def lines(run: Path) -> int:
    """How many outer steps are logged."""
    path = run / METRICS_FILE
    return path.read_text().count("\n") if path.exists() else 0


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "expert": lambda run: (run / "provenance.json").exists(),
    "before the first save": lambda run: lines(run) >= 1,
    "between saves": lambda run: lines(run) >= 8,
    "near the end": lambda run: lines(run) >= 19,
    "cloning": lambda run: (run / "ratios.h5").exists(),
}


@pytest.mark.parametrize("moments", [["cloning"], [*MOMENTS]], ids=["one kill", "five kills"])
def test_killed_at_any_moment_a_run_continues_to_the_same_bytes(
    command: Command, start: Start, unbroken: Path, moments: list[str]
) -> None:
    """Before its first save, between saves, while policies are cloned; once, or again and again."""
    run = Path("run")
    for name in moments:
        arguments = ("--resume", "run") if run.exists() else (*FLAGS, *LONG, "--out", "run")
        kill_when(start(*arguments), functools.partial(MOMENTS[name], run))
        assert not (run / "policy.h5").exists()
        assert (lines(run) < OUTER) == (name != "cloning")
    assert command("--resume", run)[0] == 0
    assert_same_run(unbroken, run)
    assert summary_of(unbroken) == summary_of(run)


def test_an_interrupt_is_one_line_that_says_how_to_go_on(command: Command, here: Path, unbroken: Path) -> None:
    """Ctrl-C: exit code 130, no traceback; the run continues to the same bytes."""
    program = "from solo_doi.cli import train_main; train_main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *FLAGS, *LONG, "--out", "run"],
        cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and lines(here / "run") < 7 and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == "solo-train: stopped. Continue with --resume run."
    assert command("--resume", "run")[0] == 0
    assert_same_run(unbroken, here / "run")


def environment() -> dict[str, str]:
    """The environment, with this project on the path wherever the command is started."""
    root = str(Path(__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}


def test_metrics_cut_in_the_middle_of_a_line_are_mended(command: Command) -> None:
    """As a power cut leaves them."""
    unbroken = command.run(out="unbroken")
    run = Path("cut")
    run.mkdir()
    for name in ("config.yaml", "provenance.json"):
        shutil.copy(unbroken / name, run / name)
    text = (unbroken / METRICS_FILE).read_text()
    (run / METRICS_FILE).write_text(text[: len(text) // 2])
    assert command("--resume", run)[0] == 0
    assert_same_run(unbroken, run)


def test_flags_beside_resume_change_nothing(command: Command) -> None:
    """The run's own configuration counts."""
    run = command.run()
    before = yaml.safe_load((run / "config.yaml").read_text())
    policy = (run / "policy.h5").read_bytes()
    assert command("--resume", run, "--seed", "9", "--preset", "paper")[0] == 0
    assert yaml.safe_load((run / "config.yaml").read_text()) == before
    assert (run / "policy.h5").read_bytes() == policy
