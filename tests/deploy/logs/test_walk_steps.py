"""Policy steps of logs, and the dataset that `solo-collect from-logs` makes of them."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest

from collect.dataset_repair import verify
from collect.exchange.robot_logs import make_from_logs
from collect.trajectory_replay import replay
from deploy.logs.walk_steps import logged_walks, walk_arrays
from deploy.messages.lcm_link import OBSERVATION_CHANNEL, blank
from deploy.recorder.recorder import write_log
from solo_doi.common.errors import SoloError
from solo_doi.data.dataset import Dataset
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import find_bundle
from solo_doi.solo12.observation import LAYOUTS

RECORDED = Path(__file__).parents[2] / "compatibility" / "files" / "deployment"
COLUMNS = LAYOUTS["locomotion"].slices


def walked(folder: Path, skills: list[int], *, pause_at: int = -1) -> Path:
    """Write the log of a deployment with these skills, one per policy step.

    Observations are those of a policy that acts on itself; a step is missing at `pause_at`.
    """
    folder.mkdir()
    (folder / "config.yaml").write_text((RECORDED / "config.yaml").read_text())
    bundle = Bundle(find_bundle(None))
    observation = np.zeros(bundle.observation_size, dtype=np.float32)
    observation[COLUMNS["gravity"]] = [0, 0, -1]
    observation[COLUMNS["command"]] = [1, 0, 0]
    events = []
    for step, skill in enumerate(skills):
        message = blank(OBSERVATION_CHANNEL)
        message.time_ns = 20_000_000 * (step + (step >= pause_at >= 0))
        message.session = 7
        message.skill = skill
        message.observation = observation.tolist()
        events.append((message.time_ns // 1000, OBSERVATION_CHANNEL, message.encode()))
        action = bundle.mean_action(observation[None], skill)[0]
        observation[COLUMNS["previous_action"]] = action
    write_log(events, folder / "log.lcm")
    return folder


def test_actions_are_those_of_the_policy(tmp_path: Path) -> None:
    """The last step of a walk has no successor."""
    steps = walk_arrays([walked(tmp_path / "deploy-1", [2] * 5)])
    bundle = Bundle(find_bundle(None))
    expected = bundle.mean_action(steps["observations"], 2)
    np.testing.assert_allclose(steps["actions"], expected, atol=1e-6)
    assert len(steps["actions"]) == 4
    assert steps["starts"].tolist() == [0]


def test_a_switch_or_a_gap_ends_a_trajectory(tmp_path: Path) -> None:
    """A switch loses no transition, a missing step loses the one before it."""
    folder = walked(tmp_path / "deploy-1", [2, 2, 2, 4, 4, 4, 4], pause_at=5)
    steps = walk_arrays([folder])
    assert steps["skill"].tolist() == [2, 4, 4]
    assert steps["starts"].tolist() == [0, 3, 4]
    assert len(steps["observations"]) == 5


def test_a_recorded_deployment_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "deploy-1"
    shutil.copytree(RECORDED, folder)
    (folder / "log.lcm").write_bytes(lzma.decompress((folder / "log.lcm.xz").read_bytes()))
    task, walks = logged_walks(folder, 0)
    assert task == "locomotion"
    assert sum(len(walk.observations) for walk in walks) > 2


@pytest.mark.filterwarnings("error")
def test_a_dataset_is_made_of_several_logs(tmp_path: Path) -> None:
    logs = [walked(tmp_path / "deploy-1", [2] * 4), walked(tmp_path / "deploy-2", [0] * 3)]
    make_from_logs(tmp_path / "data", logs)
    dataset = Dataset(tmp_path / "data")
    assert verify(tmp_path / "data") == []
    assert dataset.column("episodes/skill").tolist() == [2, 0]
    assert dataset.column("episodes/checkpoint").tolist() == [0, 1]
    assert [policy["name"] for policy in dataset.manifest.policies] == ["deploy-1", "deploy-2"]
    data = dataset.transitions()
    assert len(data) == 5
    assert data.timeouts.tolist() == [False, False, True, False, True]
    np.testing.assert_allclose(data.rewards, np.exp(-((1 / 0.3) ** 2)), rtol=1e-5)
    assert dataset.column("episodes/command").tolist() == [[1, 0, 0]] * 2
    origin = json.loads((tmp_path / "data" / "manifest.json").read_text())["origin"]
    assert origin["source"] == "logs of deployments"
    with pytest.raises(SoloError, match="not simulated"):
        replay(tmp_path / "data", 0)


def test_refusals_are_one_line(tmp_path: Path) -> None:
    folder = walked(tmp_path / "deploy-1", [2])
    with pytest.raises(SoloError, match="expected at least one walk"):
        make_from_logs(tmp_path / "data", [folder])
    with pytest.raises(SoloError, match="no such file"):
        make_from_logs(tmp_path / "data", [tmp_path / "nowhere"])
    assert not (tmp_path / "data").exists()
    with pytest.raises(SoloError, match="exists already"):
        make_from_logs(tmp_path, [folder])
