"""The bundle: one ONNX file that holds a policy, its contract, and test vectors; refused if anything is off."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.common.files import reason
from solo_doi.solo12.constants import NUM_JOINTS, check_joint_names
from solo_doi.solo12.observation import LAYOUTS

from .contract import BundleError, Contract, digest
from .plausibility import implausible

CONTRACT, VECTORS, PARITY = "solo12.contract", "solo12.test_vectors", "solo12.parity"
FILE = "skills.onnx"
"""Name that a bundle has unless another is asked for."""
FILE_HASH = "solo12.file_sha256"
NO_HASH = b"0" * 64
"""What stands in the place of the hash while it is computed."""
TOLERANCE = 1e-5
"""Largest difference between a test vector's answer and the graph's."""

NARROW = 1e-3
"""Least half-width of a training range: a command that never changed in training has none."""


@dataclass(frozen=True)
class TestVectors:
    """Inputs and the answers that export found."""

    __test__ = False  # not a test, whatever pytest thinks of the name

    observation: np.ndarray  # (V, observation)
    skill: np.ndarray  # (V,)
    action: np.ndarray  # (V, 12)

    def encode(self) -> str:
        """Return text that keeps every bit."""
        return json.dumps({
            name: {"shape": array.shape, "data": base64.b64encode(array.tobytes()).decode()}
            for name, array in vars(self).items()
        })  # fmt: skip

    @classmethod
    def decode(cls, text: str) -> TestVectors:
        """Read what `encode` wrote."""
        content = json.loads(text)
        kinds = {"observation": np.float32, "skill": np.int64, "action": np.float32}
        return cls(**{
            name: np.frombuffer(base64.b64decode(content[name]["data"]), kind).reshape(content[name]["shape"])
            for name, kind in kinds.items()
        })  # fmt: skip


class Bundle:
    """A loaded and checked bundle; runs one observation or a batch."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """Load, check hashes, weights, names and shapes, and replay the test vectors.

        Whoever has read and checked the file hands over its content: another may lie there by now.
        """
        self.path = path
        self._session, metadata = _open(path, _content(path) if content is None else content)
        self.hash = metadata[FILE_HASH]
        self.contract = Contract.parse(metadata[CONTRACT], str(path))
        check_contract(self.contract, str(path))
        low, high = (np.array(self.contract.envelope[end]) for end in ("low", "high"))
        self._envelope = (low + high) / 2, np.maximum((high - low) / 2, NARROW)
        try:
            _check_graph(self._session, self.contract, str(path))
            self.parity = json.loads(metadata[PARITY])
            self._bind()
            _replay(path, self, TestVectors.decode(metadata[VECTORS]))
        except BundleError:
            raise
        except (
            Exception
        ) as error:  # whatever text stands in their place, and whatever the graph does
            raise BundleError(
                f"{path}: its test vectors cannot be run ({reason(error)}). Export it again."
            ) from error

    @property
    def num_skills(self) -> int:
        """How many skills there are."""
        return self.contract.num_skills

    def allowed(self, *, force: bool = False) -> frozenset[int]:
        """Skills that may run: those that evaluation did not reject, or all with `force`."""
        rejected = {
            entry["skill"] for entry in self.contract.skills if entry.get("selected") is False
        }
        return frozenset(range(self.num_skills)) - (frozenset() if force else rejected)

    @property
    def observation_size(self) -> int:
        """How many numbers an observation must have."""
        return LAYOUTS[self.contract.task].size

    def run(self, observation: np.ndarray, skill: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Raw actions and joint targets (B, 12) of raw observations (B, observation) under skills (B,)."""
        if observation.shape[1:] != (self.observation_size,):
            raise BundleError(
                f"{self.path}: takes (B, {self.observation_size}) numbers, found {observation.shape}."
            )
        # As unsigned numbers, since the graph would count negative ones from the end.
        if skill.view(np.uint64).max() >= self.num_skills:
            raise BundleError(
                f"Skill {skill} does not exist: {self.path} has skills 0 to {self.num_skills - 1}."
            )
        action, target = self._session.run(None, {"observation": observation, "skill": skill})
        return action, target

    def run_one(self, observation: np.ndarray, skill: int) -> tuple[np.ndarray, np.ndarray]:
        """Raw action and joint targets (12,) of one raw observation under one skill, in memory bound once: faster."""
        if not 0 <= skill < self.num_skills:
            raise BundleError(
                f"Skill {skill} does not exist: {self.path} has skills 0 to {self.num_skills - 1}."
            )
        self._row[:], self._row_skill[0] = observation, skill
        self._session.run_with_iobinding(self._bound)
        return self._action.copy(), self._target.copy()

    def _bind(self) -> None:
        self._bound = self._session.io_binding()
        row, self._row_skill = (
            np.zeros((1, self.observation_size), np.float32),
            np.zeros(1, np.int64),
        )
        self._bound.bind_cpu_input("observation", row)
        self._bound.bind_cpu_input("skill", self._row_skill)
        action, target = np.zeros((2, 1, NUM_JOINTS), np.float32)
        for name, array in (("action", action), ("joint_target", target)):
            self._bound.bind_output(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        self._row, self._action, self._target = row[0], action[0], target[0]

    def excess(self, observation: np.ndarray) -> float:
        """How far the worst number of an observation is from the middle of the training range; above 1 is outside."""
        middle, half = self._envelope
        return float((np.abs(observation - middle) / half).max())

    def mean_action(self, observation: np.ndarray, skill: int | np.ndarray) -> np.ndarray:
        """Raw actions of observations (B, observation), as every policy of ours gives them."""
        skills = np.broadcast_to(np.asarray(skill, dtype=np.int64), observation.shape[:1])
        return self.run(observation.astype(np.float32, copy=False), np.ascontiguousarray(skills))[0]


def check_contract(contract: Contract, where: str) -> None:
    """Refuse a contract that is not about this robot as we know it."""
    try:
        check_joint_names(contract.joint_names, where)
    except SoloError as error:
        raise BundleError(str(error)) from error
    if contract.task not in LAYOUTS:
        raise BundleError(
            f"{where}: made for task {contract.task!r}, known are {', '.join(LAYOUTS)}."
        )
    if contract.history != 1:
        raise BundleError(
            f"{where}: observes {contract.history} steps, this program shows the present alone."
        )
    expected = [(term.name, term.size) for term in LAYOUTS[contract.task].terms]
    found = [(term.get("name"), term.get("size")) for term in contract.observation]
    if found != expected:
        raise BundleError(
            f"{where}: observes {found}, this program builds {expected}. Export it with this version."
        )
    sizes = {"envelope": LAYOUTS[contract.task].size, "command_range": len(contract.command)}
    for name, size in sizes.items():
        if {end: len(values) for end, values in getattr(contract, name).items()} != {
            "low": size,
            "high": size,
        }:
            raise BundleError(
                f"{where}: its {name} is not of a low and a high of {size} numbers. Export it again."
            )
    absurd = implausible(contract)
    if absurd:
        numbers = ", ".join(f"{name} {getattr(contract, name)!r}"[:80] for name in absurd)
        raise BundleError(f"{where}: no robot can be driven with its {numbers}. Export it again.")


def _check_graph(session: Any, contract: Contract, where: str) -> None:  # noqa: ANN401  # has no types
    """Refuse a graph that takes or gives something else than the contract says."""
    joints = ("tensor(float)", ["batch", NUM_JOINTS])
    expected = [
        ("observation", "tensor(float)", ["batch", LAYOUTS[contract.task].size]), ("skill", "tensor(int64)", ["batch"]),
        ("action", *joints), ("joint_target", *joints),
    ]  # fmt: skip
    found = [
        (end.name, end.type, end.shape) for end in (*session.get_inputs(), *session.get_outputs())
    ]
    if found != expected:
        raise BundleError(
            f"{where}: its graph is of {found}, its contract of {expected}. Export it again."
        )


def directory(path: Path) -> str:
    """Say that a bundle was expected where a directory is, and which file in it may be meant."""
    inside = path / FILE
    return f"{path}: a directory. Expected a bundle" + (
        f"; did you mean {inside}?" if inside.is_file() else "."
    )


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise BundleError(directory(path))
    if not path.is_file():
        raise BundleError(f"{path}: no such file. Expected a bundle written by solo-export.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({reason(error)}).") from error


def _open(path: Path, content: bytes) -> tuple[Any, dict[str, str]]:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingPackageError(
            "onnxruntime", "Running a bundle", "pip install 'solo-doi[robot]'"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = (
        1  # no waking of threads in a control loop
    )
    options.log_severity_level = 4
    if not sealed(content):
        raise BundleError(
            f"{path}: not a bundle of solo-export, or changed after it was written: its hash does not fit. "
            "Copy or export it again."
        )
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        metadata = dict(session.get_modelmeta().custom_metadata_map)
    except Exception as error:  # damaged bytes make it raise classes of its own
        raise BundleError(f"{path}: not a model that can be read ({reason(error)}).") from error
    missing = {CONTRACT, VECTORS, PARITY, FILE_HASH} - set(metadata)
    if missing:
        raise BundleError(
            f"{path}: a model without {', '.join(sorted(missing))}: not written by solo-export."
        )
    return session, metadata


@np.errstate(all="ignore")  # numbers beyond all bounds make a difference that is refused
def _replay(path: Path, bundle: Bundle, vectors: TestVectors) -> None:
    contract, skills = bundle.contract, sorted({*vectors.skill.tolist()})
    if skills != [*range(len(skills))] or len(skills) != contract.num_skills:
        raise BundleError(
            f"{path}: its test vectors are not of its {contract.num_skills} skills. Export it again."
        )
    limit = np.array(contract.position_limit)
    wished = np.clip(contract.default_pose + contract.action_scale * vectors.action, -limit, limit)
    found = np.stack(bundle.run(vectors.observation, vectors.skill))
    finite = bool(np.isfinite(found).all())
    difference = float(np.abs(found - [vectors.action, wished]).max()) if finite else float("nan")
    if not difference <= TOLERANCE:
        raise BundleError(
            f"{path}: its test vectors come out {difference:.1e} off, allowed is {TOLERANCE:.0e}. The file is damaged "
            "or this machine's onnxruntime computes otherwise; do not run it."
        )


def seal(content: bytes) -> bytes:
    """Write the hash of a whole file into the place that was kept for it."""
    place = _hash_place(content)
    if place is None:
        raise ValueError(f"no {FILE_HASH} with {len(NO_HASH)} zeros in the file")
    blank = content[:place] + NO_HASH + content[place + len(NO_HASH) :]
    return content[:place] + digest(blank).encode() + content[place + len(NO_HASH) :]


def sealed(content: bytes) -> bool:
    """Whether a file has the hash it was sealed with: not one bit of weights, contract or vectors has changed."""
    return _hash_place(content) is not None and seal(content) == content


def _hash_place(content: bytes) -> int | None:
    # As a protocol buffer stores a pair of texts: the key, a tag, the length of the value, the value.
    marker = FILE_HASH.encode() + bytes([0x12, len(NO_HASH)])
    place = content.rfind(marker)
    return None if place < 0 else place + len(marker)
