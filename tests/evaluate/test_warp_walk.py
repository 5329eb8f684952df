"""The shipped expert walks in MuJoCo Warp as it does in MuJoCo."""

from __future__ import annotations

import pytest

from collect.shipped_checkpoints import FOLDER
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.metrics.walk import Walk, measure
from solo_doi.evaluate.skill_evaluation import COMMANDED, roll_out
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.sim import WarpConfig
from tests.sizes import size

EPISODES = size(4, 50)
STEPS = size(150, 250)


def walk(sim: str) -> Walk:
    """Walk of the expert in random domains, which are the same in every simulator."""
    config = EvalConfig(sim=sim, episodes=EPISODES, steps=STEPS)  # type: ignore[arg-type]
    return measure(roll_out(read_policy(FOLDER / "locomotion" / "expert.pt"), 0, config), COMMANDED)


def test_the_expert_walks_as_fast_and_does_not_fall(
    warp_cpu: WarpConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Episodes at 1 m/s: no robot falls, and the mean velocity agrees within 3 %."""
    monkeypatch.setenv("SOLO_WARP_DEVICE", warp_cpu.device)
    warp, mujoco = walk("warp"), walk("mujoco")
    assert not warp.fallen.any()
    assert warp.vx.mean() == pytest.approx(mujoco.vx.mean(), rel=0.03)
    assert warp.vx.min() > 0.7
