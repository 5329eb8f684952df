"""Pre-training that cannot fit into memory is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collect.dominic.pretrain_config import PretrainConfig
from collect.dominic.pretrain_size import check_pretrain_size
from solo_doi.common.errors import SoloError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy_hidden": (10**7, 10**6)}, "--policy-hidden 10000000 1000000: needs at least 160"),
        ({"value_hidden": (10**7, 10**6)}, "--value-hidden 10000000 1000000: needs at least 160"),
        ({"num_robots": 10**12}, "--num-robots 1000000000000 with --steps"),
    ],
)
def test_absurd_pre_training_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SoloError, match=message):
        check_pretrain_size(replace(PretrainConfig(), **changes))


def test_the_default_pre_training_fits() -> None:
    check_pretrain_size(PretrainConfig())
