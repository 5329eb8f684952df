"""Spoiled bundles: seals, contracts, and whole files that were sealed again."""

from __future__ import annotations

import json
import random
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import onnx

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Request
from solo_doi.policies.bundle.contract import BundleError, Contract, canonical, parse_json
from solo_doi.policies.bundle.contract_checks import check_contract
from solo_doi.policies.bundle.reader import CONTRACT_KEY, Bundle
from solo_doi.policies.bundle.seal import is_sealed, seal
from solo_doi.policies.bundle.shipped import SHIPPED

from .deploy.stage import Stage
from .spoiling import mutated, mutated_json, odd


@cache
def contract_text() -> str:
    """Return the contract of the shipped skills."""
    return next(
        entry.value for entry in onnx.load(SHIPPED).metadata_props if entry.key == CONTRACT_KEY
    )


def seals_hold(count: int, seed: int) -> int:
    """Spoil a short sealed file, the end of a bundle; return how many spoiled ones were refused."""
    rng = random.Random(seed)
    content = seal(
        SHIPPED.read_bytes()[-1024:]
    )  # a whole bundle takes too long to hash a million times
    assert is_sealed(content)
    good = 0
    for _ in range(count):
        spoilt = mutated(content, rng)
        good += is_sealed(spoilt) == (spoilt == content)
    return good


def contracts_hold(count: int, seed: int) -> int:
    """Spoil a contract.

    Return the number refused with a reason, or read with their exact content.
    """
    rng, good = random.Random(seed), 0
    for _ in range(count):
        spoilt = mutated_json(contract_text(), rng).decode("utf-8", "replace")
        try:
            contract = Contract.parse(spoilt, "fuzz")
            check_contract(contract, "fuzz")
            good += contract.canonical() == canonical(parse_json(spoilt))
        except BundleError as error:
            good += "\n" not in str(error)
    return good


def bundles_hold(count: int, seed: int) -> int:
    """Spoil bytes or contract of whole bundles and seal them again.

    Return the number that were refused, or walk safely.
    """
    rng, model = random.Random(seed), onnx.load(SHIPPED)
    entry = next(entry for entry in model.metadata_props if entry.key == CONTRACT_KEY)
    content, good = SHIPPED.read_bytes(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "skills.onnx"
        for number in range(count):
            if number % 2:
                entry.value = json.dumps(odd(json.loads(contract_text()), rng))
                spoilt = model.SerializeToString()
            else:
                spoilt = mutated(content, rng)
            with suppress(ValueError):  # the spoiled file has no room for a seal
                spoilt = seal(spoilt)
            path.write_bytes(spoilt)
            good += _refused_or_harmless(path)
    return good


def _refused_or_harmless(path: Path) -> bool:
    """Return True if a bundle is refused in one line, or can be used for walking.

    Every command must be finite, and gains bounded.
    """
    try:
        bundle = Bundle(path)
    except BundleError as error:
        return "\n" not in str(error)
    bundle.allowed()
    stage = Stage(bundle)
    stage.ready()
    stage.tick(Request.WALK)
    stage.run(25)
    commands = stage.commands
    return stage.state in (
        ControllerState.WALK,
        ControllerState.READY,
        ControllerState.FAULT,
    ) and all(
        np.isfinite(command.position).all()
        and 0.0 <= command.kp <= 10.0
        and 0.0 <= command.kd <= 0.6
        for command in commands
    )
