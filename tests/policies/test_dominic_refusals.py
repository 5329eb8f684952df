"""Files that are no DOMiNiC checkpoint are refused with a clear error."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from solo_doi.policies.dominic_checkpoint import CheckpointError, read_policy
from solo_doi.policies.masked_policy import MaskedPolicy

from .checkpoints import (
    small_checkpoint,
    written,
)


def refusal(path: Path) -> str:
    """Return the error message for a file; it begins with the path."""
    with pytest.raises(CheckpointError) as error:
        read_policy(path)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value)


class Attack:
    """An object that would create a file when unpickled."""

    def __init__(self, target: Path) -> None:
        """Set the path of the file."""
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Make unpickling run a shell command."""
        return os.system, (f"touch {self.target}",)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("container", ["torch", "legacy torch", "bare pickle"])
def test_a_command_in_a_file_is_not_executed(tmp_path: Path, container: str) -> None:
    """A file with a command is refused, and the command does not run."""
    target, path = tmp_path / "executed", tmp_path / "model.pt"
    content = {**small_checkpoint(), "infos": Attack(target)}
    if container == "bare pickle":
        path.write_bytes(pickle.dumps(content["infos"]))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=container == "torch")
    assert "not a checkpoint that can be read safely" in refusal(path)
    assert not target.exists()


def test_the_attack_works_without_protection(tmp_path: Path) -> None:
    """This shows that the test above can fail."""
    path = written(tmp_path / "model.pt", {"infos": Attack(tmp_path / "executed")})
    torch.load(path, weights_only=False)
    assert (tmp_path / "executed").exists()


def test_a_missing_file_or_a_directory_is_refused(tmp_path: Path) -> None:
    """The error describes the expected file."""
    assert "no such file. Expected a DOMiNiC checkpoint" in refusal(tmp_path / "absent.pt")
    assert "a directory. Expected a DOMiNiC checkpoint" in refusal(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"\x00", b"not a checkpoint", b"PK\x03\x04", b"\x80\x02}q\x00."]
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    """The file is empty, text, half a zip header, or a bare pickle of an empty dictionary."""
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    assert "torch.load" not in refusal(path)  # torch's message advises to execute the file


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    """The download was interrupted."""
    path = written(tmp_path / "model.pt", small_checkpoint())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert "download or export it again" in refusal(path)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@settings(max_examples=150)
@given(place=st.integers(0, 10**6), value=st.integers(0, 255), zipped=st.booleans())
def test_a_damaged_file_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int, zipped: bool
) -> None:
    """One byte of the pickle is changed; all errors of the unpickler become one."""
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
    """The message names the type found."""
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
    """Both lists are given, so that a renamed layer is found at once.

    A number as a key is refused, too.
    """
    content = small_checkpoint()
    content["policy_state_dict"]["actor.0.weight"] = content["policy_state_dict"].pop("masks.1")
    content["policy_state_dict"][3] = torch.zeros(1)
    message = refusal(written(tmp_path / "model.pt", content))
    assert "policy_state_dict lacks ['masks.1']" in message
    assert "unknown ['3', 'actor.0.weight']" in message


def test_a_normaliser_with_a_count_is_of_another_layout(tmp_path: Path) -> None:
    """The official normaliser has no count, so other numbers may have another meaning as well."""
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
    """Numpy would broadcast some of them and compute wrong results.

    The message contains the shapes found and expected.
    """
    content = small_checkpoint()
    content["policy_state_dict"][key] = torch.zeros(shape)
    message = refusal(written(tmp_path / "model.pt", content))
    assert "has shape" in message
    assert "to fit the other layers" in message


def test_a_policy_for_another_robot_is_refused(tmp_path: Path) -> None:
    """A Solo12 has twelve joints; eight matching outputs belong to a Solo8."""
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
    """On a robot, NaN would be a motor command."""
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
