"""Checkpoints: official layouts in, official layout out, and a clear word about anything else."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from solo_doi.common.files import WriteError
from solo_doi.policies.dominic_checkpoint import CheckpointError, read_policy, write_policy
from solo_doi.policies.masked_policy import MaskedPolicy

from .checkpoints import LAYOUTS, SMALL, Sizes, our_checkpoint, small_policy


def written(path: Path, content: object) -> Path:
    """A file as `torch.save` makes it."""
    torch.save(content, path)
    return path


def small_checkpoint() -> dict[str, Any]:
    """A good checkpoint of a few numbers, to be spoiled."""
    return our_checkpoint(SMALL)


def recipe(content: dict[str, Any], observation: torch.Tensor, skill: int) -> np.ndarray:
    """The official inference, step by step in torch."""
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


# --- Reading -------------------------------------------------------------------------------------


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Sizes, dict[str, Any], Path]:
    """A checkpoint of each layout: its sizes, its content and its file."""
    sizes, build = LAYOUTS[request.param]
    content = build()
    return sizes, content, written(tmp_path / "model_2000.pt", content)


Layout = tuple[Sizes, dict[str, Any], Path]


def test_sizes_are_read_off_the_file(layout: Layout) -> None:
    """Position task, older velocity task and ours are one format."""
    sizes, content, path = layout
    policy = read_policy(path)
    assert (policy.observation_size, policy.num_skills) == (sizes.observations, sizes.skills)
    assert [weight.shape[0] for weight in policy.weights] == [*sizes.hidden, 12]
    np.testing.assert_array_equal(policy.log_std, content["policy_state_dict"]["log_std"])


def test_numpy_inference_equals_the_official_recipe(layout: Layout) -> None:
    """Every skill, on inputs of about the size of observations."""
    sizes, content, path = layout
    policy = read_policy(path)
    observation = torch.randn(7, sizes.observations, generator=torch.Generator().manual_seed(2))
    for skill in range(sizes.skills):
        expected = recipe(content, observation, skill)
        np.testing.assert_allclose(
            policy.mean_action(observation.numpy(), skill), expected, rtol=1e-4, atol=1e-4
        )


def test_another_skill_gives_another_action(layout: Layout) -> None:
    """The masks are what skills are."""
    sizes, _, path = layout
    policy = read_policy(path)
    observation = np.ones(sizes.observations, dtype=np.float32)
    actions = [policy.mean_action(observation, skill) for skill in range(sizes.skills)]
    assert len({action.tobytes() for action in actions}) == sizes.skills


def test_the_writer_gives_back_what_the_reader_read(layout: Layout, tmp_path: Path) -> None:
    """Bit for bit, policy and normaliser, with the official keys, order, shapes and types."""
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
    """Some writers save nn.Parameter: it wants gradients, which numpy cannot have."""
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


# --- Refusing ------------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    """The message with which a file is refused; it begins with the path."""
    with pytest.raises(CheckpointError) as error:
        read_policy(path)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value)


class Attack:
    """An object that would create a file when unpickled."""

    def __init__(self, target: Path) -> None:
        """Name the file."""
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Run a command when loaded."""
        return os.system, (f"touch {self.target}",)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("container", ["torch", "legacy torch", "bare pickle"])
def test_nothing_in_a_file_is_executed(tmp_path: Path, container: str) -> None:
    """A checkpoint is data: a file that contains a command is refused, and nothing runs."""
    target, path = tmp_path / "executed", tmp_path / "model.pt"
    content = {**small_checkpoint(), "infos": Attack(target)}
    if container == "bare pickle":
        path.write_bytes(pickle.dumps(content["infos"]))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=container == "torch")
    assert "not a checkpoint that can be read safely" in refusal(path)
    assert not target.exists()


def test_the_attack_of_the_test_above_works_where_nothing_guards(tmp_path: Path) -> None:
    """Or it would prove nothing."""
    path = written(tmp_path / "model.pt", {"infos": Attack(tmp_path / "executed")})
    torch.load(path, weights_only=False)
    assert (tmp_path / "executed").exists()


def test_a_missing_file_or_a_directory_is_refused(tmp_path: Path) -> None:
    """With a word on what was expected."""
    assert "no such file. Expected a DOMiNiC checkpoint" in refusal(tmp_path / "absent.pt")
    assert "a directory. Expected a DOMiNiC checkpoint" in refusal(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"\x00", b"not a checkpoint", b"PK\x03\x04", b"\x80\x02}q\x00."]
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    """Empty, text, half a zip header, a bare pickle of an empty dictionary."""
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    assert "torch.load" not in refusal(path)  # it advises to execute the file


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    """A download that broke off."""
    path = written(tmp_path / "model.pt", small_checkpoint())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert "download or export it again" in refusal(path)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@settings(max_examples=150)
@given(place=st.integers(0, 10**6), value=st.integers(0, 255), zipped=st.booleans())
def test_a_damaged_file_is_refused_or_read_but_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int, zipped: bool
) -> None:
    """One byte changed anywhere in the pickle: the unpickler has many errors, the reader one."""
    path = tmp_path_factory.mktemp("damaged") / "model.pt"
    torch.save(small_checkpoint(), path, _use_new_zipfile_serialization=zipped)
    content = bytearray(path.read_bytes())
    start = content.find(b"\x80\x02") if zipped else 0
    content[start + place % 1200] = value
    path.write_bytes(content)
    with suppress(CheckpointError):
        assert isinstance(read_policy(path), MaskedPolicy)


@pytest.mark.parametrize("content", [[1, 2], torch.zeros(3), "model", None, 7])
def test_a_file_without_a_dictionary_is_refused(tmp_path: Path, content: object) -> None:
    """The message names the found type."""
    assert f"holds a {type(content).__name__}, expected a dictionary" in refusal(
        written(tmp_path / "m.pt", content)
    )


@pytest.mark.parametrize("part", ["policy_state_dict", "obs_norm_state_dict"])
@pytest.mark.parametrize("replacement", ["missing", "not a dictionary"])
def test_a_missing_part_is_named_with_what_was_found(
    tmp_path: Path, part: str, replacement: str
) -> None:
    """A checkpoint of another library has other names, which are listed."""
    content = small_checkpoint()
    del content[part]
    if replacement == "not a dictionary":
        content[part] = [1, 2]
    message = refusal(written(tmp_path / "model.pt", content))
    assert f"has no '{part}'" in message
    assert "tot_timesteps" in message


def test_missing_and_unknown_entries_are_named(tmp_path: Path) -> None:
    """Both lists, so that a renamed layer is seen at once.

    A number as a key is no excuse to crash.
    """
    content = small_checkpoint()
    content["policy_state_dict"]["actor.0.weight"] = content["policy_state_dict"].pop("masks.1")
    content["policy_state_dict"][3] = torch.zeros(1)
    message = refusal(written(tmp_path / "model.pt", content))
    assert "policy_state_dict lacks ['masks.1']" in message
    assert "unknown ['3', 'actor.0.weight']" in message


def test_a_normaliser_with_a_count_is_of_another_layout(tmp_path: Path) -> None:
    """The official one has none: what has one may mean something else by its other numbers."""
    content = small_checkpoint()
    content["obs_norm_state_dict"]["count"] = torch.tensor(5)
    assert "obs_norm_state_dict lacks [] and has unknown ['count']" in refusal(
        written(tmp_path / "model.pt", content)
    )


WRONG_SHAPES: dict[str, list[tuple[int, ...]]] = {
    "policy_latent_layers.0.weight": [(6, 4), (7, 5), (30,), ()],
    "policy_latent_layers.0.bias": [(5,), (1, 6), ()],
    "policy_latent_layers.2.weight": [(4, 5), (6, 4)],
    "policy_latent_layers.2.bias": [(6,), ()],
    "action_mean_net.weight": [(11, 4), (12, 5)],
    "action_mean_net.bias": [(11,), ()],
    "log_std": [(1,), (13,), ()],
    "masks.0": [(3, 5), (6,), (2, 6), ()],
    "masks.1": [(3, 5), (4,), (2, 4), ()],
}


@pytest.mark.parametrize(
    ("key", "shape"), [(key, shape) for key, shapes in WRONG_SHAPES.items() for shape in shapes]
)
def test_a_layer_of_another_shape_is_refused(
    tmp_path: Path, key: str, shape: tuple[int, ...]
) -> None:
    """Numpy would broadcast some of them and compute nonsense.

    Two shapes are named, one of them as expected.
    """
    content = small_checkpoint()
    content["policy_state_dict"][key] = torch.zeros(shape)
    message = refusal(written(tmp_path / "model.pt", content))
    assert "has shape" in message
    assert "to fit the other layers" in message


def test_a_policy_for_another_robot_is_refused(tmp_path: Path) -> None:
    """Every Solo12 has twelve joints; eight outputs that fit each other are a Solo8's."""
    content = small_checkpoint()
    policy = content["policy_state_dict"]
    for key in ("action_mean_net.weight", "action_mean_net.bias", "log_std"):
        policy[key] = policy[key][:8]
    assert "action_mean_net.weight has shape (8, 4), expected (12, 4)" in refusal(
        written(tmp_path / "m.pt", content)
    )


def test_a_normaliser_of_another_size_is_refused(tmp_path: Path) -> None:
    """Mean and deviation must fit each other and the first layer."""
    for key, size in (("_mean", 4), ("_std", 1)):
        content = small_checkpoint()
        content["obs_norm_state_dict"][key] = torch.ones(1, size)
        assert "has shape" in refusal(written(tmp_path / "model.pt", content))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("part", "key"),
    [("policy_state_dict", "action_mean_net.bias"), ("obs_norm_state_dict", "_std")],
)
def test_numbers_that_are_not_finite_are_refused(
    tmp_path: Path, part: str, key: str, value: float
) -> None:
    """On a robot a NaN is a motor command."""
    content = small_checkpoint()
    content[part][key].flatten()[1] = value
    assert f"{key} contains NaN or infinity" in refusal(written(tmp_path / "model.pt", content))


def test_an_entry_that_is_no_tensor_is_refused(tmp_path: Path) -> None:
    """A list of numbers is not a layer."""
    content = small_checkpoint()
    content["policy_state_dict"]["log_std"] = [0.0] * 12
    assert "log_std is a list, expected a tensor" in refusal(
        written(tmp_path / "model.pt", content)
    )


# --- Writing -------------------------------------------------------------------------------------


def test_folders_are_made_and_no_partial_file_is_left(tmp_path: Path) -> None:
    """The folder holds the checkpoint and nothing else."""
    path = tmp_path / "new" / "folder" / "model.pt"
    write_policy(path, small_policy())
    assert os.listdir(path.parent) == ["model.pt"]
    assert same(read_policy(path), small_policy())


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    """The state of a run is written again and again under one name."""
    path = tmp_path / "model.pt"
    write_policy(path, small_policy(seed=1))
    write_policy(path, small_policy(seed=2))
    assert same(read_policy(path), small_policy(seed=2))


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_writing_that_fails_keeps_the_old_file_and_leaves_nothing(
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
    """While the new file is being written, the old one is whole under its name."""
    path = tmp_path / "model.pt"
    write_policy(path, small_policy(seed=1))
    original, seen = torch.save, []

    def save(content: object, file: Any) -> None:  # a path or a file
        original(content, file)
        seen.append(same(read_policy(path), small_policy(seed=1)))

    monkeypatch.setattr(torch, "save", save)
    write_policy(path, small_policy(seed=2))
    assert seen == [True]
