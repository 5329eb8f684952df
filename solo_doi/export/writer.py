"""Writer of bundles: graph, contract and test vectors in one sealed file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.files import replacing
from solo_doi.policies.bundle.contract import ROBOT, Contract
from solo_doi.policies.bundle.reader import CONTRACT_KEY, PARITY_KEY, VECTORS_KEY
from solo_doi.policies.bundle.seal import FILE_HASH, NO_HASH, seal
from solo_doi.solo12.constants import CONTROL_SETUPS

from .contract_builder import ExportedPolicy, make_contract
from .graph import build_graph
from .parity import check_parity
from .velocity_commands import CommandRange


def write_bundle(
    policy: ExportedPolicy,
    task: str,
    path: Path,
    made_from: dict[str, Any],
    skills: tuple[dict[str, Any], ...],
    commands: CommandRange | None = None,
    *,
    robot: str = ROBOT,
) -> float:
    """Write the bundle of a policy that was trained for `task` and `robot`.

    Returns:
        The largest difference between the actions of graph and policy that was found.
    """
    refuse_damaged(policy)
    contract = make_contract(policy, task, made_from, skills, commands, robot=robot)
    model = build_graph(policy, CONTROL_SETUPS[contract.task])
    vectors, parity = check_parity(model, policy, contract.task)
    entries = {
        CONTRACT_KEY: contract.canonical(),
        VECTORS_KEY: vectors.encode(),
        PARITY_KEY: json.dumps(parity),
        **mjlab_entries(contract),
        FILE_HASH: NO_HASH.decode(),
    }
    for name, value in entries.items():
        model.metadata_props.add(key=name, value=value)
    with replacing(path) as partial:
        partial.write_bytes(seal(model.SerializeToString()))
    return float(parity["largest_difference"])


def refuse_damaged(policy: ExportedPolicy) -> None:
    """Refuse weights that are NaN or infinite."""
    for name, value in vars(policy).items():
        arrays = value if isinstance(value, tuple) else (value,)
        for array in arrays:
            if not np.isfinite(array).all():
                raise SoloError(
                    f"The policy's {name} holds numbers that are not finite: "
                    "it must not be exported."
                )


def mjlab_entries(contract: Contract) -> dict[str, str]:
    """Return the metadata that mjlab's tools read, in full precision."""
    count = len(contract.joint_names)
    names = tuple(term["name"] for term in contract.observation)
    return {
        "joint_names": _joined(contract.joint_names),
        "joint_stiffness": _joined((contract.kp,) * count),
        "joint_damping": _joined((contract.kd,) * count),
        "default_joint_pos": _joined(contract.default_pose),
        "observation_names": _joined(names),
        "action_scale": _joined((contract.action_scale,) * count),
        "command_names": "twist",
    }


def _joined(values: tuple[object, ...]) -> str:
    return ",".join(map(str, values))
