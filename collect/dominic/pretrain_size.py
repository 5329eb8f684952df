"""Check that pre-training fits into memory."""

from __future__ import annotations

from solo_doi.common.memory import check_memory

from .pretrain_config import PretrainConfig

WEIGHT_BYTES_IN_TRAINING = 16
"""Size of a weight with its gradient and two averages of Adam, 4 bytes each."""
ROBOT_STEP_BYTES = 300
"""Least size of one step of one robot in the experience of an iteration."""


def check_pretrain_size(config: PretrainConfig) -> None:
    """Refuse networks and experience that cannot fit into memory, before anything is made.

    Raises:
        SoloError: The message has the setting, its need and the free memory.
    """
    for name, widths in (("policy", config.policy_hidden), ("value", config.value_hidden)):
        first, second = widths
        check_memory(
            WEIGHT_BYTES_IN_TRAINING * first * second,
            f"--{name}-hidden {first} {second}",
            "Choose smaller ones; the defaults are about a hundred each.",
        )
    check_memory(
        ROBOT_STEP_BYTES * config.num_robots * config.steps,
        f"--num-robots {config.num_robots} with --steps {config.steps}",
        "Choose fewer robots or steps.",
    )
