"""Small policies and their bundles, good ones and spoiled ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from solo_doi.export.contract_builder import make_contract
from solo_doi.export.writer import write_bundle
from solo_doi.policies.bundle.contract import BundleError, Contract
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.seal import seal
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.observation import LAYOUTS

SKILLS, HIDDEN = 3, 8
MADE_FROM = {"run": "small", "data": {"crc32": 7}}
EVALUATED = tuple(
    {"skill": skill, "selected": skill != 1, "vx": 0.1 + skill / 3} for skill in range(SKILLS)
)
"""Evaluation of the skills in a bundle; a third has no short decimal form."""


class Numbers:
    """Random arrays of single precision from one seed."""

    def __init__(self, seed: int) -> None:
        """Start at a seed."""
        self._rng = np.random.default_rng(seed)

    def normal(self, *shape: int) -> np.ndarray:
        """Return numbers that keep outputs of a layer about as large as its inputs."""
        return (self._rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    def positive(self, *shape: int) -> np.ndarray:
        """Numbers between 0.5 and 2."""
        return self._rng.uniform(0.5, 2, shape).astype(np.float32)


def skill_policy(
    *,
    size: int = 48,
    squashed: bool = False,
    skills: int = SKILLS,
    joints: int = NUM_JOINTS,
    reach: float = 1.0,
) -> SkillPolicy:
    """Return a small policy like those of training; raw actions reach about this far."""
    numbers = Numbers(0)
    return SkillPolicy(
        state_mean=numbers.normal(size),
        state_std=numbers.positive(size),
        first=numbers.normal(HIDDEN, size),
        skill=2 * numbers.normal(skills, HIDDEN),
        second=numbers.normal(HIDDEN, HIDDEN),
        second_bias=numbers.normal(HIDDEN),
        head=2 * numbers.normal(joints, HIDDEN),
        head_bias=numbers.normal(joints),
        action_mean=numbers.normal(joints),
        action_std=numbers.positive(joints) * np.float32(reach),
        squashed=squashed,
    )


def masked_policy(*, size: int = 48, skills: int = SKILLS) -> MaskedPolicy:
    """Return a small policy like those of checkpoints, with layers of different sizes."""
    numbers, first, second = Numbers(1), HIDDEN, HIDDEN - 2
    return MaskedPolicy(
        mean=numbers.normal(size),
        std=numbers.positive(size),
        weights=(
            numbers.normal(first, size),
            numbers.normal(second, first),
            numbers.normal(NUM_JOINTS, second),
        ),
        biases=(numbers.normal(first), numbers.normal(second), numbers.normal(NUM_JOINTS)),
        masks=(numbers.positive(skills, first), numbers.positive(skills, second)),
        log_std=numbers.normal(NUM_JOINTS),
    )


POLICIES: dict[str, tuple[str, Callable[[], SkillPolicy | MaskedPolicy]]] = {
    "clipped": ("locomotion", skill_policy),
    "squashed": ("locomotion", lambda: skill_policy(squashed=True)),
    "masked": ("locomotion", masked_policy),
    "of one skill": ("locomotion", lambda: masked_policy(skills=1)),
    "of forty skills": ("locomotion", lambda: skill_policy(skills=40)),
    "masked, navigation": ("navigation", lambda: masked_policy(size=LAYOUTS["navigation"].size)),
    "clipped inputs": ("locomotion", lambda: replace(skill_policy(), input_clip=1.5)),
    "clipped, navigation": ("navigation", lambda: skill_policy(size=LAYOUTS["navigation"].size)),
}
"""Every kind of policy, with its task."""


def contract(**changes: Any) -> Contract:  # any field
    """Return a contract like those of export, with changes.

    It does not name the software, which may change.
    """
    return replace(_contract(), **({"made_from": MADE_FROM} | changes))


@cache
def _contract() -> Contract:
    return make_contract(skill_policy(), "locomotion", MADE_FROM, EVALUATED)


def write(path: Path, policy: SkillPolicy | MaskedPolicy | None = None) -> Path:
    """Write a good bundle."""
    policy = policy or skill_policy()
    task = next(name for name, layout in LAYOUTS.items() if layout.size == policy.observation_size)
    write_bundle(policy, task, path, MADE_FROM, EVALUATED)
    return path


def metadata(path: Path) -> dict[str, str]:
    """Return the metadata of a file."""
    return {entry.key: entry.value for entry in onnx.load(path).metadata_props}


def spoiled(path: Path, spoil: Callable[[onnx.ModelProto], None]) -> Path:
    """Replace the bundle by one with a change, sealed again."""
    model = onnx.load(path)
    spoil(model)
    path.write_bytes(seal(model.SerializeToString()))
    return path


def with_texts(path: Path, **texts: str) -> Path:
    """Replace these entries of the bundle ("contract" is solo12.contract) and seal it again."""

    def spoil(model: onnx.ModelProto) -> None:
        for entry in model.metadata_props:
            entry.value = texts.get(entry.key.removeprefix("solo12."), entry.value)

    return spoiled(path, spoil)


def extremes(bundle_or_policy: Bundle | SkillPolicy | MaskedPolicy) -> np.ndarray:
    """Return observations of all magnitudes up to the clip, and zeros."""
    rng, size = np.random.default_rng(5), bundle_or_policy.observation_size
    rows = [scale * rng.standard_normal((40, size)) for scale in (0.0, 1e-30, 1.0, 10.0, 100.0)]
    corners = rng.choice([-100.0, 100.0], (20, size))
    return np.concatenate([*rows, corners]).astype(np.float32)


def refusal(path: Path) -> str:
    """Return the error message for a file; it begins with the path and is one line."""
    with pytest.raises(BundleError) as error:
        Bundle(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    return str(error.value)


def assert_unsealed(path: Path, content: bytes) -> None:
    """Check that a file of this content is refused by its hash."""
    path.write_bytes(content)
    assert "not a bundle of solo-export, or changed after it was written" in refusal(path)
