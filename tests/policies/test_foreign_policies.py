"""Policies of other projects: Stable-Baselines3 archives and arrays in .npz files."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from solo_doi.policies import bounded_zip
from solo_doi.policies.foreign_policy import read_foreign_policy
from solo_doi.policies.mlp_policy import MlpPolicy, PolicyFileError

from .test_dominic_refusals import Attack

OBSERVATION, HIDDEN, ACTION = 4, 3, 2


def saved(content: object) -> bytes:
    """Return the bytes of torch.save."""
    stream = io.BytesIO()
    torch.save(content, stream)
    return stream.getvalue()


def actor(seed: int = 0) -> dict[str, Any]:
    """Return tensors named as in the archive of a SAC agent, critic included."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {
        "actor.latent_pi.0": (HIDDEN, OBSERVATION),
        "actor.latent_pi.2": (HIDDEN, HIDDEN),
        "actor.mu": (ACTION, HIDDEN),
        "actor.log_std": (ACTION, HIDDEN),
        "critic.qf0.0": (HIDDEN, OBSERVATION + ACTION),
    }
    tensors = {}
    for name, shape in shapes.items():
        tensors[f"{name}.weight"] = torch.randn(shape, generator=generator)
        tensors[f"{name}.bias"] = torch.randn(shape[0], generator=generator)
    return tensors


def write_sb3(path: Path, content: object = None, **members: bytes) -> Path:
    """Write an archive like those of Stable-Baselines3; an empty member is left out."""
    files = {
        "data": json.dumps({"policy_kwargs": {"use_sde": False}}).encode(),
        "policy.pth": saved(actor() if content is None else content),
        "_stable_baselines3_version": b"2.3.2",
    }
    files |= {name.replace("policy_pth", "policy.pth"): value for name, value in members.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            if value:
                archive.writestr(name, value)
    return path


def arrays() -> dict[str, Any]:
    """Return the arrays of a small .npz policy."""
    rng = np.random.default_rng(0)
    return {
        "obs_mean": rng.normal(size=OBSERVATION),
        "obs_std": rng.uniform(0.5, 2, OBSERVATION),
        "w0": rng.normal(size=(OBSERVATION, HIDDEN)),
        "b0": rng.normal(size=HIDDEN),
        "w1": rng.normal(size=(HIDDEN, HIDDEN)),
        "b1": rng.normal(size=HIDDEN),
        "w_out": rng.normal(size=(HIDDEN, ACTION)),
        "b_out": rng.normal(size=ACTION),
        "action_log_std": np.zeros(ACTION),
    }


def write_npz(path: Path, **changes: object) -> Path:
    """Write a .npz policy; a change of None leaves an array out."""
    content = {name: value for name, value in (arrays() | changes).items() if value is not None}
    np.savez(path, **content)
    return path


def observations() -> np.ndarray:
    """Return a few observations."""
    return np.random.default_rng(1).normal(size=(5, OBSERVATION)).astype(np.float32)


@pytest.mark.parametrize(
    ("kwargs", "function"),
    [
        ({}, torch.relu),
        ({"activation_fn": "<class 'torch.nn.modules.activation.ReLU'>"}, torch.relu),
        ({"activation_fn": "<class 'torch.nn.modules.activation.Tanh'>"}, torch.tanh),
    ],
)
def test_an_actor_acts_as_in_torch(
    tmp_path: Path, kwargs: dict[str, str], function: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    settings = json.dumps({"policy_kwargs": kwargs}).encode()
    policy = read_foreign_policy(write_sb3(tmp_path / "sac.zip", data=settings))
    assert (policy.observation_size, policy.action_size, policy.num_skills) == (4, 2, 1)
    x = torch.from_numpy(observations())
    for layer in ("actor.latent_pi.0", "actor.latent_pi.2"):
        x = function(
            torch.nn.functional.linear(x, actor()[f"{layer}.weight"], actor()[f"{layer}.bias"])
        )
    x = torch.nn.functional.linear(x, actor()["actor.mu.weight"], actor()["actor.mu.bias"])
    found = policy.mean_action(observations(), np.zeros(5, dtype=int))
    np.testing.assert_allclose(found, torch.tanh(x).numpy(), atol=2e-6)


def test_arrays_act_as_computed_by_hand(tmp_path: Path) -> None:
    policy = read_foreign_policy(write_npz(tmp_path / "ant.npz"))
    found = arrays()
    x = (observations() - found["obs_mean"]) / (found["obs_std"] + 1e-6)
    x = np.tanh(x @ found["w0"] + found["b0"])
    x = np.tanh(x @ found["w1"] + found["b1"])
    expected = np.clip(x @ found["w_out"] + found["b_out"], -1, 1)
    np.testing.assert_allclose(policy.mean_action(observations()), expected, atol=1e-5)


def test_words_choose_the_functions(tmp_path: Path) -> None:
    policy = read_foreign_policy(write_npz(tmp_path / "a.npz", hidden="relu", output="tanh"))
    assert (policy.hidden, policy.output) == ("relu", "tanh")


def test_inputs_that_are_always_zero_can_be_dropped(tmp_path: Path) -> None:
    """Ant-v4 had six numbers, always zero, that Ant-v5 leaves out."""
    policy = read_foreign_policy(write_npz(tmp_path / "ant.npz"))
    full = observations()
    full[:, 1:3] = 0.0
    shorter = policy.without_inputs(slice(1, 3))
    assert shorter.observation_size == OBSERVATION - 2
    np.testing.assert_allclose(
        shorter.mean_action(np.delete(full, slice(1, 3), axis=1)),
        policy.mean_action(full),
        atol=1e-5,
    )


def test_wrong_observations_and_skills_are_refused(tmp_path: Path) -> None:
    policy = read_foreign_policy(write_npz(tmp_path / "a.npz"))
    with pytest.raises(PolicyFileError.__base__, match="4 numbers, found 3"):
        policy.mean_action(np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(PolicyFileError.__base__, match="Skill 1 does not exist"):
        policy.mean_action(observations(), 1)


def refusal(path: Path) -> str:
    """Return the error of a file: one line that begins with its path."""
    with pytest.raises(PolicyFileError) as error:
        read_foreign_policy(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def test_a_command_in_an_archive_is_not_executed(tmp_path: Path) -> None:
    target = tmp_path / "executed"
    path = write_sb3(tmp_path / "a.zip", {**actor(), "actor.mu.bias": Attack(target)})
    assert "cannot be read safely" in refusal(path)
    bare = pickle.dumps(Attack(target))
    assert "not a file of today's torch.save" in refusal(
        write_sb3(tmp_path / "b.zip", policy_pth=bare)
    )
    objects = np.array([Attack(target)], dtype=object)
    assert "Pickles are never opened" in refusal(write_npz(tmp_path / "c.npz", w0=objects))
    (tmp_path / "policy.pkl").write_bytes(bare)
    assert "pickles, are never opened" in refusal(tmp_path / "policy.pkl")
    assert not target.exists()


def test_archives_larger_than_a_policy_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both the archive and the one inside it are checked before anything is unpacked."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(2_000_000))
    monkeypatch.setattr(bounded_zip, "MAX_BYTES", 1_000_000)
    bomb = write_sb3(tmp_path / "bomb.zip", critic=bytes(2_000_000))
    assert "a policy has at most" in refusal(bomb)
    assert "a policy has at most" in refusal(
        write_sb3(tmp_path / "inner.zip", policy_pth=inner.getvalue())
    )
    assert "a policy has at most" in refusal(
        write_npz(tmp_path / "large.npz", extra=np.zeros(200_000))
    )


def test_sizes_without_memory_behind_them_are_refused(tmp_path: Path) -> None:
    huge = torch.zeros(1).expand(10**9, 1)
    assert "expected at most" in refusal(
        write_sb3(tmp_path / "a.zip", {**actor(), "actor.mu.weight": huge})
    )
    path = write_npz(tmp_path / "b.npz")
    content = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(content, header)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("extra.npy", content.getvalue())
    assert "extra.npy is not a readable array" in refusal(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actor.mu.weight": torch.zeros(2, 5)}, "has shape (2, 5), expected (2, 3)"),
        ({"actor.mu.bias": torch.tensor([1.0, torch.nan])}, "contains NaN or infinity"),
        ({"actor.mu.bias": [1.0, 2.0]}, "actor.mu.bias is a list, expected a tensor"),
        ({"actor.latent_pi.0.weight": torch.zeros(())}, "has shape ()"),
    ],
)
def test_layers_that_do_not_fit_are_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    assert message in refusal(write_sb3(tmp_path / "a.zip", {**actor(), **change}))


def test_other_agents_and_files_are_refused(tmp_path: Path) -> None:
    ppo = {
        "mlp_extractor.policy_net.0.weight": torch.zeros(2, 2),
        "action_net.bias": torch.zeros(2),
    }
    assert "found parts ['action_net', 'mlp_extractor']. Expected an agent" in refusal(
        write_sb3(tmp_path / "ppo.zip", ppo)
    )
    assert "holds a list" in refusal(write_sb3(tmp_path / "list.zip", [1]))
    assert "has no policy.pth" in refusal(write_sb3(tmp_path / "empty.zip", policy_pth=b""))
    gelu = json.dumps({"policy_kwargs": {"activation_fn": "torch.nn.GELU"}}).encode()
    assert "'torch.nn.GELU', expected ReLU or Tanh" in refusal(
        write_sb3(tmp_path / "gelu.zip", data=gelu)
    )
    assert "not the settings of an agent" in refusal(write_sb3(tmp_path / "d.zip", data=b"[1"))
    assert "no such file" in refusal(tmp_path / "nowhere.zip")
    (tmp_path / "folder.npz").mkdir()
    assert "a directory" in refusal(tmp_path / "folder.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"w_out": None}, "lacks ['w_out']"),
        ({"w0": None, "b0": None}, "lacks ['w0']"),
        ({"b1": np.zeros(7)}, "weight of layer 1 has shape (3, 3), expected (7, 3)"),
        ({"w0": np.array([["a"]])}, "w0 is of type <U1, expected numbers"),
        ({"hidden": "gelu"}, "hidden is 'gelu', expected relu or tanh"),
        ({"obs_std": np.full(4, np.inf)}, "std contains NaN or infinity"),
    ],
)
def test_incomplete_arrays_are_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    assert message in refusal(write_npz(tmp_path / "a.npz", **changes))


@pytest.mark.parametrize("name", ["a.zip", "a.npz"])
def test_damaged_files_are_refused(tmp_path: Path, name: str) -> None:
    """Any single wrong byte is a refusal or a policy, never another error."""
    write = write_npz if name.endswith("npz") else write_sb3
    content = write(tmp_path / name).read_bytes()
    path = tmp_path / f"damaged-{name}"
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(content), 60):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        with suppress(PolicyFileError):
            assert isinstance(read_foreign_policy(path), MlpPolicy)
    path.write_bytes(content[: len(content) // 2])
    assert "not a readable archive" in refusal(path)
