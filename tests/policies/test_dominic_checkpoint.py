"""Checkpoints of the official layouts are read, and written in the official layout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from solo_doi.common.files import WriteError
from solo_doi.policies.dominic_checkpoint import read_policy, write_policy
from solo_doi.policies.masked_policy import MaskedPolicy

from .checkpoints import (
    LAYOUTS,
    Sizes,
    small_checkpoint,
    small_policy,
    written,
)


def recipe(content: dict[str, Any], observation: torch.Tensor, skill: int) -> np.ndarray:
    """Return the result of the official inference, step by step in torch."""
    policy, normaliser = content["policy_state_dict"], content["obs_norm_state_dict"]
    x = (observation - normaliser["_mean"]) / (normaliser["_std"] + 0.01)
    for index in (0, 1):
        layer = f"policy_latent_layers.{2 * index}"
        x = functional.elu(functional.linear(x, policy[f"{layer}.weight"], policy[f"{layer}.bias"]))
        x = x * policy[f"masks.{index}"][skill]
    return functional.linear(
        x, policy["action_mean_net.weight"], policy["action_mean_net.bias"]
    ).numpy()


def same(one: MaskedPolicy, other: MaskedPolicy) -> bool:
    """True if two policies are equal bit for bit."""
    flat = [[p.mean, p.std, *p.weights, *p.biases, *p.masks, p.log_std] for p in (one, other)]
    return all(np.array_equal(a, b) for a, b in zip(*flat, strict=True))


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Sizes, dict[str, Any], Path]:
    """A checkpoint of each layout: its sizes, its content and its file."""
    sizes, build = LAYOUTS[request.param]
    content = build()
    return sizes, content, written(tmp_path / "model_2000.pt", content)


Layout = tuple[Sizes, dict[str, Any], Path]


def test_sizes_are_read_off_the_file(layout: Layout) -> None:
    """Position task, older velocity task and our checkpoints have one format."""
    sizes, content, path = layout
    policy = read_policy(path)
    assert (policy.observation_size, policy.num_skills) == (sizes.observations, sizes.skills)
    assert [weight.shape[0] for weight in policy.weights] == [*sizes.hidden, 12]
    np.testing.assert_array_equal(policy.log_std, content["policy_state_dict"]["log_std"])


def test_numpy_inference_equals_the_official_recipe(layout: Layout) -> None:
    """All skills agree, for inputs of about the size of observations."""
    sizes, content, path = layout
    policy = read_policy(path)
    observation = torch.randn(7, sizes.observations, generator=torch.Generator().manual_seed(2))
    for skill in range(sizes.skills):
        expected = recipe(content, observation, skill)
        np.testing.assert_allclose(
            policy.mean_action(observation.numpy(), skill), expected, rtol=1e-4, atol=1e-4
        )


def test_another_skill_gives_another_action(layout: Layout) -> None:
    """Masks define the skills."""
    sizes, _, path = layout
    policy = read_policy(path)
    observation = np.ones(sizes.observations, dtype=np.float32)
    actions = [policy.mean_action(observation, skill) for skill in range(sizes.skills)]
    assert len({action.tobytes() for action in actions}) == sizes.skills


def test_the_writer_restores_the_content_of_the_reader(layout: Layout, tmp_path: Path) -> None:
    """All bits are equal, with the official keys, order, shapes and types."""
    _, content, path = layout
    policy = read_policy(path)
    write_policy(tmp_path / "copy.pt", policy, iteration=7)
    assert same(read_policy(tmp_path / "copy.pt"), policy)
    copy = torch.load(tmp_path / "copy.pt", weights_only=True)
    assert copy["iteration"] == 7
    assert list(copy["policy_state_dict"]) == list(content["policy_state_dict"])
    for part in ("policy_state_dict", "obs_norm_state_dict"):
        for key, value in content[part].items():
            assert copy[part][key].dtype == torch.float32
            torch.testing.assert_close(copy[part][key], value, rtol=1e-6, atol=0)


def test_masks_are_any_numbers(tmp_path: Path) -> None:
    """The official run trained its masks: they may be fractions or negative."""
    content = small_checkpoint()
    mask = content["policy_state_dict"]["masks.0"]
    mask[:] = torch.tensor([0.37, -1.5, 0.0, 1.0, 2.0, 0.5])
    policy = read_policy(written(tmp_path / "model.pt", content))
    np.testing.assert_array_equal(policy.masks[0], mask)
    observation = torch.ones(1, 5)
    np.testing.assert_allclose(
        policy.mean_action(observation.numpy(), 1), recipe(content, observation, 1), rtol=1e-5
    )
    content["policy_state_dict"]["masks.0"] = (mask != 0).float()
    assert (policy.mean_action(observation.numpy(), 1) != recipe(content, observation, 1)).any()


def test_parameters_are_read_like_tensors(tmp_path: Path) -> None:
    """Some writers save nn.Parameter, which requires gradients and cannot become numpy directly."""
    content = small_checkpoint()
    plain = read_policy(written(tmp_path / "plain.pt", content))
    content["policy_state_dict"] = {
        key: nn.Parameter(value) for key, value in content["policy_state_dict"].items()
    }
    assert same(read_policy(written(tmp_path / "parameters.pt", content)), plain)


def test_double_precision_becomes_single(tmp_path: Path) -> None:
    """Policies are float32 everywhere else."""
    content = small_checkpoint()
    content["obs_norm_state_dict"] = {
        key: value.double() for key, value in content["obs_norm_state_dict"].items()
    }
    assert read_policy(written(tmp_path / "model.pt", content)).mean.dtype == np.float32


def test_folders_are_made_and_no_partial_file_is_left(tmp_path: Path) -> None:
    """The folder contains only the checkpoint."""
    path = tmp_path / "new" / "folder" / "model.pt"
    write_policy(path, small_policy())
    assert os.listdir(path.parent) == ["model.pt"]
    assert same(read_policy(path), small_policy())


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    """A run writes its state repeatedly under one name."""
    path = tmp_path / "model.pt"
    write_policy(path, small_policy(seed=1))
    write_policy(path, small_policy(seed=2))
    assert same(read_policy(path), small_policy(seed=2))


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failed_write_keeps_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """On a full disk, the last good checkpoint stays, and no temporary file remains."""
    path = tmp_path / "model.pt"
    write_policy(path, small_policy(seed=1))

    def fail(*arguments: Any, **keywords: object) -> None:  # any arguments of the original
        if step == "write":
            arguments[0].write_text("half a fi")
        raise OSError(28, "No space left on device")

    target = {"write": (Path, "write_bytes"), "fsync": (os, "fsync"), "replace": (Path, "replace")}[
        step
    ]
    monkeypatch.setattr(*target, fail)
    with pytest.raises(WriteError, match="No space left"):
        write_policy(path, small_policy(seed=2))
    assert os.listdir(tmp_path) == ["model.pt"]
    assert same(read_policy(path), small_policy(seed=1))


def test_a_reader_never_sees_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the new file is being written, the old one is complete under its name."""
    path = tmp_path / "model.pt"
    write_policy(path, small_policy(seed=1))
    original, seen = torch.save, []

    def save(content: object, file: Any) -> None:  # a path or a file
        original(content, file)
        seen.append(same(read_policy(path), small_policy(seed=1)))

    monkeypatch.setattr(torch, "save", save)
    write_policy(path, small_policy(seed=2))
    assert seen == [True]
