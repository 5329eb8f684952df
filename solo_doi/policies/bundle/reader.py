"""Reader of bundles: loads the file, checks everything in it, runs the policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.errors import MissingPackageError
from solo_doi.common.files import reason
from solo_doi.common.untrusted import read_bounded
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.observation import LAYOUTS

from .contract import LARGEST_BUNDLE, BundleError, Contract
from .contract_checks import check_contract
from .external_data import has_external_data
from .seal import FILE_HASH, is_sealed
from .vectors import TestVectors

BUNDLE_FILE = "skills.onnx"
"""Default name of a bundle."""
CONTRACT_KEY = "solo12.contract"
VECTORS_KEY = "solo12.test_vectors"
PARITY_KEY = "solo12.parity"
VECTOR_TOLERANCE = 1e-5
"""Largest allowed difference between a test vector's action and the graph's."""
NARROW = 1e-3
"""Smallest half-width of a training range: a constant command has a range without width."""


class Bundle:
    """A loaded and checked bundle. Runs one observation or a batch."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """Load a bundle, check hash, contract and graph, and replay the test vectors.

        `content` replaces reading the file. A caller that has checked a signature passes the bytes
        it checked, since the file may have been replaced in between.
        """
        self.path = path
        if content is None:
            content = _read_bytes(path)
        self.content = content
        """Bytes of the file that was loaded; the file itself may have changed since."""
        self._session, metadata = _open_session(path, content)
        self.hash = metadata[FILE_HASH]
        self.contract = Contract.parse(metadata[CONTRACT_KEY], str(path))
        check_contract(self.contract, str(path))
        low = np.array(self.contract.envelope["low"])
        high = np.array(self.contract.envelope["high"])
        self._envelope_middle = (low + high) / 2
        self._envelope_half = np.maximum((high - low) / 2, NARROW)
        try:
            self._check_graph()
            self.parity: dict[str, Any] = json.loads(metadata[PARITY_KEY])
            self._bind()
            _replay(path, self, TestVectors.decode(metadata[VECTORS_KEY]))
        except BundleError:
            raise
        except Exception as error:  # entries and graph are untrusted: any error may occur
            raise BundleError(
                f"{path}: its test vectors cannot be run ({reason(error)}). Export it again."
            ) from error

    @property
    def num_skills(self) -> int:
        """Number of skills."""
        return self.contract.num_skills

    @property
    def observation_size(self) -> int:
        """Length of an observation."""
        return LAYOUTS[self.contract.task].size

    def allowed(self, *, force: bool = False) -> frozenset[int]:
        """Return the skills that evaluation did not reject, or all skills with `force`."""
        skills = frozenset(range(self.num_skills))
        if force:
            return skills
        return skills - {
            entry["skill"] for entry in self.contract.skills if entry.get("selected") is False
        }

    def run(self, observation: np.ndarray, skill: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return raw actions and joint targets [rad], (B, 12) each.

        Args:
            observation: Raw observations (B, observation_size), single precision.
            skill: Skill of every row (B,).
        """
        if observation.shape[1:] != (self.observation_size,):
            raise BundleError(
                f"{self.path}: takes (B, {self.observation_size}) numbers, "
                f"found {observation.shape}."
            )
        # As unsigned numbers, since the graph would count negative ones from the end.
        if skill.view(np.uint64).max() >= self.num_skills:
            raise self._no_such_skill(skill)
        action, target = self._session.run(None, {"observation": observation, "skill": skill})
        return action, target

    def run_one(self, observation: np.ndarray, skill: int) -> tuple[np.ndarray, np.ndarray]:
        """Return raw action and joint targets [rad] (12,) of one observation.

        Faster than `run`: inputs and outputs use arrays that are bound to the graph once.
        """
        if not 0 <= skill < self.num_skills:
            raise self._no_such_skill(skill)
        self._row[:] = observation
        self._row_skill[0] = skill
        self._session.run_with_iobinding(self._binding)
        return self._action.copy(), self._target.copy()

    def excess(self, observation: np.ndarray) -> float:
        """Return the largest distance of any number from the middle of its training range.

        The unit is the half-width of the range: above 1, the observation lies outside.
        """
        return float((np.abs(observation - self._envelope_middle) / self._envelope_half).max())

    def mean_action(self, observation: np.ndarray, skill: int | np.ndarray) -> np.ndarray:
        """Return raw actions of observations (B, observation_size), like every policy."""
        skills = np.broadcast_to(np.asarray(skill, dtype=np.int64), observation.shape[:1])
        return self.run(observation.astype(np.float32, copy=False), np.ascontiguousarray(skills))[0]

    def _check_graph(self) -> None:
        """Refuse a graph that has other inputs or outputs than the contract states."""
        joints = ["batch", NUM_JOINTS]
        expected = [
            ("observation", "tensor(float)", ["batch", self.observation_size]),
            ("skill", "tensor(int64)", ["batch"]),
            ("action", "tensor(float)", joints),
            ("joint_target", "tensor(float)", joints),
        ]
        ends = (*self._session.get_inputs(), *self._session.get_outputs())
        found = [(end.name, end.type, end.shape) for end in ends]
        if found != expected:
            raise BundleError(
                f"{self.path}: its graph has {found}, its contract expects {expected}. "
                "Export it again."
            )

    def _bind(self) -> None:
        """Bind arrays of one row to the inputs and outputs of the graph."""
        row = np.zeros((1, self.observation_size), np.float32)
        action = np.zeros((1, NUM_JOINTS), np.float32)
        target = np.zeros((1, NUM_JOINTS), np.float32)
        self._row_skill = np.zeros(1, np.int64)
        self._binding = self._session.io_binding()
        self._binding.bind_cpu_input("observation", row)
        self._binding.bind_cpu_input("skill", self._row_skill)
        for name, array in (("action", action), ("joint_target", target)):
            self._binding.bind_output(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        self._row = row[0]
        self._action = action[0]
        self._target = target[0]

    def _no_such_skill(self, skill: object) -> BundleError:
        return BundleError(
            f"Skill {skill} does not exist: {self.path} has skills 0 to {self.num_skills - 1}."
        )


def expected_bundle(folder: Path) -> str:
    """Return the error message for a folder in the place of a bundle."""
    inside = folder / BUNDLE_FILE
    hint = f"; did you mean {inside}?" if inside.is_file() else "."
    return f"{folder}: a directory. Expected a bundle{hint}"


def _read_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise BundleError(expected_bundle(path))
    if not path.is_file():
        raise BundleError(f"{path}: no such file. Expected a bundle written by solo-export.")
    try:
        return read_bounded(path, LARGEST_BUNDLE)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({reason(error)}).") from error


def _open_session(path: Path, content: bytes) -> tuple[Any, dict[str, str]]:
    """Check the hash of a file; return its inference session and its metadata."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingPackageError(
            "onnxruntime", "Running a bundle", "pip install 'solo-doi[robot]'"
        ) from error
    if not is_sealed(content):
        raise BundleError(
            f"{path}: not a bundle of solo-export, or changed after it was written: its hash does "
            "not fit. Copy or export it again."
        )
    _check_one_file(path, content)
    options = onnxruntime.SessionOptions()
    # One thread: waking others would add jitter to the control loop.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        metadata = dict(session.get_modelmeta().custom_metadata_map)
    except Exception as error:  # onnxruntime has its own exception classes for damaged files
        raise BundleError(f"{path}: not a model that can be read ({reason(error)}).") from error
    missing = {CONTRACT_KEY, VECTORS_KEY, PARITY_KEY, FILE_HASH} - set(metadata)
    if missing:
        raise BundleError(
            f"{path}: a model without {', '.join(sorted(missing))}: not written by solo-export."
        )
    return session, metadata


def _check_one_file(path: Path, content: bytes) -> None:
    """Refuse a graph with numbers in other files; the runtime would read those."""
    try:
        external = has_external_data(content)
    except ValueError as error:
        raise BundleError(f"{path}: not a model that can be read ({error}).") from error
    if external:
        raise BundleError(
            f"{path}: keeps numbers in other files. A bundle is one file. Do not use files of this "
            "origin."
        )


@np.errstate(all="ignore")  # overflow leads to a difference that is refused below
def _replay(path: Path, bundle: Bundle, vectors: TestVectors) -> None:
    """Run the test vectors; refuse other actions or joint targets than expected."""
    contract = bundle.contract
    skills = sorted(set(vectors.skill.tolist()))
    if len(skills) != contract.num_skills or skills != list(range(len(skills))):
        raise BundleError(
            f"{path}: its test vectors must cover all {contract.num_skills} skills and no others. "
            "Export it again."
        )
    limit = np.array(contract.position_limit)
    target = np.clip(contract.default_pose + contract.action_scale * vectors.action, -limit, limit)
    found = np.stack(bundle.run(vectors.observation, vectors.skill))
    difference = float("nan")
    if np.isfinite(found).all():
        difference = float(np.abs(found - [vectors.action, target]).max())
    if not difference <= VECTOR_TOLERANCE:
        raise BundleError(
            f"{path}: the graph's outputs for its test vectors differ by {difference:.1e}, "
            f"allowed is {VECTOR_TOLERANCE:.0e}. The file is damaged, or onnxruntime computes "
            "differently on this machine; do not run it."
        )
