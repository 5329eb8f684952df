"""Networks that cannot fit into memory are refused."""

from __future__ import annotations

import pytest

from solo_doi.algorithm.part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    PolicyConfig,
    ValueConfig,
)
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common.errors import SoloError
from solo_doi.runs.network_memory import check_networks

WIDE = 10_000_000


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (TrainConfig(policy=PolicyConfig(hidden=WIDE)), "policy.hidden 10000000"),
        (TrainConfig(value=ValueConfig(hidden=WIDE)), "value.hidden 10000000"),
        (TrainConfig(classifier=ClassifierConfig(hidden=WIDE)), "classifier.hidden 10000000"),
        (
            TrainConfig(discriminator=DiscriminatorConfig(hidden=WIDE)),
            "discriminator.hidden 10000000",
        ),
        (TrainConfig(policy=PolicyConfig(batch=10**12)), "minibatches of 1000000000000"),
    ],
)
def test_absurd_widths_are_refused(config: TrainConfig, name: str) -> None:
    with pytest.raises(SoloError, match=r"needs at least .* TB of memory, but") as error:
        check_networks(config)
    assert name in str(error.value)


def test_the_defaults_fit() -> None:
    check_networks(TrainConfig())
