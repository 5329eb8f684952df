"""Datasets of Gym tasks: random data, experts of other projects, replay buffers from files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import gymnasium
import h5py
import numpy as np
import pytest

from collect.cli.collect import main
from collect.collector import collect
from collect.dataset_repair import verify
from collect.merge_parts import merge_parts
from collect.recipes import CollectConfig, task_recipe
from collect.replay_data import NO_SEED
from collect.trajectory_replay import replay
from solo_doi.common.errors import SoloError
from solo_doi.data.d4rl import write_d4rl
from solo_doi.data.dataset import Dataset
from solo_doi.data.shard import DataError
from solo_doi.data.transitions import Transitions
from solo_doi.tasks.gym.environments import ANT, ENVIRONMENTS
from tests.command import Command

from .recipes import collect_here, fingerprint

SIZES = {env.name: (env.observation_size, len(env.motors)) for env in ENVIRONMENTS}


def write_expert(path: Path, observation: int, action: int, seed: int = 0) -> Path:
    """Write a small policy as arrays."""
    rng = np.random.default_rng(seed)
    np.savez(
        path,
        obs_mean=np.zeros(observation),
        obs_std=np.ones(observation),
        w0=rng.normal(size=(observation, 4)),
        b0=np.zeros(4),
        w_out=rng.normal(size=(4, action)),
        b_out=np.zeros(action),
    )
    return path


def small(task: str, folder: Path, **changes: object) -> CollectConfig:
    """Return a recipe of a few short trajectories."""
    config = CollectConfig(
        **task_recipe(task), expert_policy=(write_expert(folder / "expert.npz", *SIZES[task]),)
    )
    sizes = {"trajectories": 6, "steps": 40}
    config = replace(
        config,
        expert=replace(config.expert, **sizes),
        offline=replace(config.offline, **sizes),
        coverage_expert=2,
        shard_trajectories=4,
    )
    return replace(config, **changes)  # type: ignore[arg-type]


def test_the_recipe_has_d4rl_s_sizes() -> None:
    """A million random steps, one demonstration, and no domain randomisation."""
    for environment in ENVIRONMENTS:
        recipe = CollectConfig(**task_recipe(environment.name))
        steps = recipe.planned("offline") * environment.random_steps
        assert steps == pytest.approx(1e6, rel=1e-3)
        assert (recipe.demonstrations, recipe.randomisation) == (1, "none")
        assert recipe.planned("expert") == recipe.coverage_expert + 1


@pytest.mark.parametrize("task", SIZES)
def test_trajectories_are_those_of_gymnasium(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored actions give the stored observations, rewards and end in Gymnasium itself."""
    monkeypatch.chdir(tmp_path)  # MuJoCo may leave a log
    dataset = Dataset(collect_here(small(task, tmp_path), tmp_path / "out") / "coverage")
    environment = gymnasium.make(dataset.manifest.layout[0]["frame"])
    observation, action = SIZES[task]
    assert dataset.manifest.layout[0]["size"] == observation
    assert len(dataset.manifest.joint_names) == action
    lengths = dataset.column("episodes/length")
    data = dataset.transitions()
    assert data.actions is not None
    for trajectory in (0, len(lengths) - 1):  # a random one, and one of the expert
        start = int(data.starts[trajectory])
        inner = environment.unwrapped
        environment.reset(seed=0)
        seed = dataset.column("episodes/seed")[trajectory]
        # The first draws of the episode's own generator are Gymnasium's.
        inner.np_random = np.random.default_rng(tuple(int(number) for number in seed))  # type: ignore[misc]
        seen, _ = environment.reset()
        for row in range(start, start + lengths[trajectory]):
            np.testing.assert_array_equal(data.observations[row], seen.astype(np.float32))
            seen, reward, ended, _, _ = environment.step(data.actions[row].astype(np.float64))
            assert data.rewards[row] == np.float32(reward)
            assert data.terminals[row] == ended
        np.testing.assert_array_equal(data.next_observations[row], seen.astype(np.float32))
    assert (data.terminals | data.timeouts).sum() == len(lengths)
    assert set(np.abs(data.actions[: lengths[0]]).max(axis=1) <= 1) == {True}
    environment.close()


def test_random_data_scale_and_the_expert_does_not(tmp_path: Path) -> None:
    config = small("hopper", tmp_path, scale=0.5, demonstrations=3)
    out = collect_here(config, tmp_path / "out")
    sizes = {name: Dataset(out / name).manifest.num_trajectories for name in ("offline", "expert")}
    assert sizes == {"offline": 3, "expert": 5}
    demonstrations = Dataset(out / "demonstrations")
    assert not demonstrations.has("actions")
    assert not demonstrations.has("episodes/seed")
    assert demonstrations.manifest.num_trajectories == 3
    assert not verify(out / "coverage")
    assert max(replay(out / "offline", 1).values()) == 0


def test_datasets_do_not_depend_on_their_parts(tmp_path: Path) -> None:
    """Shards of another size have the same trajectories, and parts merge."""
    config = small("hopper", tmp_path)
    whole = collect_here(config, tmp_path / "whole")
    other = collect_here(replace(config, shard_trajectories=1), tmp_path / "other")
    one, two = Dataset(whole / "offline"), Dataset(other / "offline")
    for field in ("observations", "rewards", "terminals", "episodes/length"):
        np.testing.assert_array_equal(one.column(field), two.column(field))
    merged = merge_parts(tmp_path / "merged", (whole,))
    assert merged.planned("expert") == 3
    assert fingerprint(tmp_path / "merged" / "offline") == fingerprint(whole / "offline")


def test_several_experts_share_the_trajectories(tmp_path: Path) -> None:
    experts = [write_expert(tmp_path / f"{seed}.npz", *SIZES["hopper"], seed) for seed in (1, 2)]
    config = small("hopper", tmp_path, expert_policy=tuple(experts), coverage_expert=3)
    expert = Dataset(collect_here(config, tmp_path / "out") / "expert")
    assert expert.column("episodes/checkpoint").tolist() == [0, 0, 1, 1]
    assert [policy["name"] for policy in expert.manifest.policies] == ["1.npz", "2.npz"]


def test_an_expert_of_an_older_ant_gets_the_numbers_that_it_expects(tmp_path: Path) -> None:
    """Ant-v4 observed six more numbers, which are zero."""
    old = write_expert(tmp_path / "ant-v4.npz", ANT.observation_size + 6, len(ANT.motors))
    out = collect_here(small("ant", tmp_path, expert_policy=(old,)), tmp_path / "out")
    assert len(Dataset(out / "expert")) > 0


def made_up_file(path: Path, task: str, trajectories: int = 3, steps: int = 5) -> Path:
    """Write a D4RL file of a task's sizes; every second trajectory ends early."""
    rng = np.random.default_rng(0)
    observation, action = SIZES[task]
    rows = trajectories * steps
    last = np.arange(rows) % steps == steps - 1
    ended = last & (np.arange(rows) // steps % 2 == 1)
    data = Transitions.from_flags(
        observations=rng.normal(size=(rows, observation)).astype(np.float32),
        next_observations=rng.normal(size=(rows, observation)).astype(np.float32),
        actions=rng.uniform(-1, 1, (rows, action)).astype(np.float32),
        rewards=rng.normal(size=rows).astype(np.float32),
        terminals=ended,
        timeouts=last & ~ended,
        terms={"observation": slice(0, observation)},
    )
    write_d4rl(path, data)
    return path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-collect, run in this process."""
    return Command("solo-collect", main, monkeypatch, capsys)


def test_a_replay_buffer_is_the_offline_data(command: Command, tmp_path: Path) -> None:
    """Its trajectories keep their rows and ends; those of the expert are simulated."""
    file = made_up_file(tmp_path / "hopper_medium_replay-v2.hdf5", "hopper")
    expert = write_expert(tmp_path / "expert.npz", *SIZES["hopper"])
    out = tmp_path / "out"
    code, text, errors = command(
        *("--task", "hopper", "--recipe", "medium-replay", "--replay-data", file),
        *("--expert-policy", expert, "--expert-mixin", 2, "--workers", 1, "--out", out),
    )
    assert code == 0, errors
    assert "solo-train --task hopper" in text
    offline = Dataset(out / "offline")
    assert offline.column("episodes/length").tolist() == [5, 5, 5]
    assert offline.column("terminals").sum() == 1
    assert (offline.column("episodes/seed") == NO_SEED).all()
    assert offline.manifest.complete
    assert not verify(out / "offline")
    coverage = Dataset(out / "coverage")
    names = [policy["name"] for policy in coverage.manifest.policies]
    assert names == [file.name, "expert.npz"]
    assert coverage.manifest.num_trajectories == 5
    with pytest.raises(DataError, match="trajectory 0 is from a file, not simulated"):
        replay(out / "offline", 0)
    recipe = json.loads((out / "expert" / "manifest.json").read_text())["origin"]["recipe"]
    assert "expert_policy" not in recipe  # its place differs between machines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--task hopper", "Task hopper needs an expert: name a .zip file of Stable-Baselines3"),
        ("--task hopper --recipe late", "has no recipe late: expected --recipe random or medium"),
        ("--task locomotion --recipe random", "has no recipe random: expected --recipe paper or"),
        ("--task hopper --recipe medium-replay", "needs a D4RL file or a Minari dataset"),
        ("--task hopper --replay-data x.hdf5", "needs a D4RL file or a Minari dataset"),
        ("--task hopper --randomisation robust", "Expected --randomisation none"),
        ("--task hopper --sim pybullet --expert-policy expert.npz", "expected --sim mujoco"),
        ("--task ant --expert-policy expert.npz", "takes 11 numbers and gives 3, task ant has 105"),
        ("--task hopper --expert-policy a/x.npz b/x.npz", "expected different file names"),
        ("--task locomotion --expert-policy expert.npz", "Task locomotion has checkpoints"),
        (
            "--task ant --recipe medium-replay --replay-data h.hdf5 --expert-policy ant.npz",
            "h.hdf5: observations of 11 and actions of 3 numbers, task ant has 105 and 8.",
        ),
    ],
)
def test_recipes_that_do_not_fit_are_refused_in_one_line(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_expert(Path("expert.npz"), *SIZES["hopper"])
    write_expert(Path("ant.npz"), *SIZES["ant"])
    made_up_file(Path("h.hdf5"), "hopper")
    code, _, errors = command(*words.split(), "--workers", 1, "--scale", "1e-4")
    assert (code, errors.count("\n")) == (1, 1)
    assert message in errors


def test_states_alone_are_no_offline_data(tmp_path: Path) -> None:
    file = made_up_file(tmp_path / "states.hdf5", "hopper")
    with h5py.File(file, "a") as content:
        del content["actions"]
    config = small("hopper", tmp_path, replay_data=file)
    with pytest.raises(SoloError, match=r"states\.hdf5: has no actions"):
        collect(config, tmp_path / "out", workers=1)
