"""Skill policies in numpy: against hand-computed numbers, against their network, and in files."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, replace
from math import tanh
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from solo_doi.algorithm.numerics.networks import SkillNetwork
from solo_doi.common.errors import SoloError
from solo_doi.policies.skill_policy import SkillPolicy

OBSERVATIONS, HIDDEN, ACTIONS, SKILLS = 5, 8, 3, 4


def array(*numbers: object) -> np.ndarray:
    """Return numbers in single precision."""
    return np.array(numbers, dtype=np.float32)


def one_number_policy(**changes: object) -> SkillPolicy:
    """Return a policy that can be computed by hand: one input, unit and action, two skills."""
    policy = SkillPolicy(
        state_mean=array(1),
        state_std=array(0.5),
        first=array([2]),
        skill=array([1], [-5]),
        second=array([0.5]),
        second_bias=array(-2),
        head=array([0.25]),
        head_bias=array(0.125),
        action_mean=array(10),
        action_std=array(4),
    )
    return replace(policy, **changes)


def random_network() -> SkillNetwork:
    """Return a network like those of training, with biases."""
    network = SkillNetwork(OBSERVATIONS, HIDDEN, ACTIONS, SKILLS, torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.second_bias.normal_(generator=torch.Generator().manual_seed(1))
        network.head_bias.normal_(generator=torch.Generator().manual_seed(2))
    return network


def random_policy(*, squashed: bool = False) -> SkillPolicy:
    """Return the same network as a policy of raw numbers."""
    rng = np.random.default_rng(0)
    weights = {name: value.detach().numpy() for name, value in random_network().named_parameters()}
    return SkillPolicy(
        state_mean=rng.normal(size=OBSERVATIONS).astype(np.float32),
        state_std=rng.uniform(0.5, 2, OBSERVATIONS).astype(np.float32),
        action_mean=rng.normal(size=ACTIONS).astype(np.float32),
        action_std=rng.uniform(0.5, 2, ACTIONS).astype(np.float32),
        squashed=squashed,
        **weights,
    )


def observations(count: int) -> np.ndarray:
    """Return raw observations."""
    return np.random.default_rng(3).normal(size=(count, OBSERVATIONS)).astype(np.float32)


def test_mean_action_by_hand() -> None:
    """Input (3 - 1) / 0.5 = 4; first layer 9, second 2.5, output 0.75: 4 x 0.75 + 10.

    For skill 1, the first layer is 3, the second 0, the output 0.125.
    """
    np.testing.assert_allclose(one_number_policy().mean_action(array(3), 0), [13])
    np.testing.assert_allclose(one_number_policy().mean_action(array(3), 1), [10.5])


def test_units_below_zero_are_off() -> None:
    """Input -4: first layer -7 is 0, second -2 is 0."""
    np.testing.assert_allclose(one_number_policy().mean_action(array(-1), 0), [10.5])


def test_outputs_stay_in_the_range_of_the_data() -> None:
    """An output of 5.125 is clipped to 1: 14; one of -4.875 to -1: 6.

    With tanh, the output comes close to the limit.
    """
    np.testing.assert_allclose(one_number_policy(head=array([2])).mean_action(array(3), 0), [14])
    np.testing.assert_allclose(one_number_policy(head=array([-2])).mean_action(array(3), 0), [6])
    squashed = one_number_policy(squashed=True)
    np.testing.assert_allclose(squashed.mean_action(array(3), 0), [10 + 4 * tanh(0.75)], rtol=1e-6)


@pytest.mark.parametrize("squashed", [True, False])
def test_a_policy_equals_its_network(squashed: bool) -> None:
    """All skills agree, with the scales of training before and after."""
    policy, x = random_policy(squashed=squashed), observations(6)
    with torch.no_grad():
        output = random_network()(torch.from_numpy((x - policy.state_mean) / policy.state_std))
    output = output.tanh() if squashed else output.clamp(-1, 1)
    for skill in range(SKILLS):
        expected = output[skill].numpy() * policy.action_std + policy.action_mean
        np.testing.assert_allclose(policy.mean_action(x, skill), expected, rtol=1e-5, atol=1e-6)


def test_every_robot_may_have_its_own_skill() -> None:
    """An array of skills gives the same actions as single skills.

    A single observation needs no batch.
    """
    policy, x, skills = random_policy(), observations(4), np.array([3, 0, 1, 3])
    expected = [policy.mean_action(row, int(skill)) for row, skill in zip(x, skills, strict=True)]
    found = policy.mean_action(x, skills)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("size", [0, 4, 6])
def test_an_observation_of_another_task_is_refused(size: int) -> None:
    """The error contains both sizes."""
    with pytest.raises(SoloError, match=f"takes 5 numbers, found {size}"):
        random_policy().mean_action(np.zeros(size, dtype=np.float32), 0)


@pytest.mark.parametrize("skill", [-1, 4, np.array([0, 4]), np.array([-1, 0])])
def test_a_skill_that_does_not_exist_is_refused(skill: int | np.ndarray) -> None:
    """Negative skills are refused as well, which an index would count from the end."""
    with pytest.raises(SoloError, match="the policy has skills 0 to 3"):
        random_policy().mean_action(observations(2), skill)


# Files.


@pytest.mark.parametrize("squashed", [True, False])
def test_a_file_brings_back_every_number(squashed: bool, tmp_path: Path) -> None:
    """Numbers and types are equal to the last bit, and so are the actions."""
    policy, path = random_policy(squashed=squashed), tmp_path / "run" / "policy.h5"
    policy.write(path)
    back = SkillPolicy.read(path)
    for field in fields(SkillPolicy):
        one, other = getattr(policy, field.name), getattr(back, field.name)
        np.testing.assert_array_equal(one, other, err_msg=field.name)
        assert np.asarray(one).dtype == np.asarray(other).dtype, field.name
    assert (back.num_skills, back.observation_size) == (SKILLS, OBSERVATIONS)
    np.testing.assert_array_equal(
        policy.mean_action(observations(3), 2), back.mean_action(observations(3), 2)
    )
    assert os.listdir(path.parent) == ["policy.h5"]


def test_a_newer_file_is_refused_by_its_version(tmp_path: Path) -> None:
    """The error contains both versions."""
    path = tmp_path / "policy.h5"
    random_policy().write(path)
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 3
    with pytest.raises(SoloError, match=r"policy\.h5: version 3, this program reads 1 and 2"):
        SkillPolicy.read(path)


@pytest.mark.parametrize("kind", ["missing", "text", "cut", "field"])
def test_an_invalid_policy_file_is_one_clear_line(kind: str, tmp_path: Path) -> None:
    """The file is missing, of another kind, damaged or without a layer."""
    path = tmp_path / "policy.h5"
    if kind != "missing":
        random_policy().write(path)
    if kind == "text":
        path.write_text("weights")
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    elif kind == "field":
        with h5py.File(path, "r+") as file:
            del file["second_bias"]
    with pytest.raises(
        SoloError,
        match=r"policy\.h5: not a skill policy \(.*Expected policy\.h5 of a run of solo-train",
    ):
        SkillPolicy.read(path)


def test_a_full_disk_keeps_the_old_policy(tmp_path: Path) -> None:
    """The error is one line; the test runs in a separate process, since HDF5 may crash here."""
    path = tmp_path / "policy.h5"
    random_policy().write(path)
    old = path.read_bytes()
    code = (
        "import sys\nfrom pathlib import Path\nfrom solo_doi.common.files import WriteError\n"
        "from solo_doi.policies.skill_policy import SkillPolicy\n"
        "from tests.common.disks import no_file_above\n"
        "policy = SkillPolicy.read(Path(sys.argv[1]))\n"
        "with no_file_above(1000):\n"
        "    try:\n        policy.write(Path(sys.argv[1]))\n"
        "    except WriteError as error:\n        print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "policy.h5: cannot be written (File too large)" in found.stdout
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["policy.h5"]


def test_inputs_beyond_the_clip_count_as_the_clip(tmp_path: Path) -> None:
    """The input of 3 is 4 deviations out; with a clip at 3 it acts as 2.5, which is 3 out."""
    clipped = one_number_policy(input_clip=3.0)
    free = one_number_policy()
    np.testing.assert_array_equal(clipped.mean_action(array(3), 0), free.mean_action(array(2.5), 0))
    assert (clipped.mean_action(array(3), 0) != free.mean_action(array(3), 0)).all()
    clipped.write(tmp_path / "policy.h5")
    assert SkillPolicy.read(tmp_path / "policy.h5").input_clip == 3.0
    free.write(tmp_path / "free.h5")
    assert SkillPolicy.read(tmp_path / "free.h5").input_clip == 0.0
