"""Check that the networks of a training run fit into memory."""

from __future__ import annotations

from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common.memory import check_memory

WEIGHT_BYTES = 16
"""Size of a weight in training: the weight, its gradient and two averages of Adam, 4 bytes each."""
ACTIVATION_BYTES = 8
"""Size of a unit's output and its gradient, for one row of a minibatch."""


def check_networks(config: TrainConfig) -> None:
    """Refuse widths and minibatches that cannot fit, before data are read.

    Raises:
        SoloError: The message has the setting, its need and the free memory.
    """
    parts = (
        ("classifier", config.classifier.hidden, config.classifier.batch, 1),
        ("value", config.value.hidden, config.value.initial_batch, 1),
        (
            "discriminator",
            config.discriminator.hidden,
            config.discriminator.batch,
            config.discriminator.members,
        ),
        ("policy", config.policy.hidden, config.policy.batch, 1),
    )
    for name, hidden, batch, members in parts:
        weights = WEIGHT_BYTES * members * hidden * hidden
        activations = 2 * ACTIVATION_BYTES * members * hidden * batch
        check_memory(
            weights + activations,
            f"--{name}.hidden {hidden} with minibatches of {batch}",
            "Choose smaller ones; the defaults are a few hundred each.",
        )
