"""solo-doi: from simulator checkpoints to diverse skills that walk on a real Solo12.

The names below are the public API; `solo_doi.api` describes the functions. Each is imported when it
is first used, so that `import solo_doi` stays fast and needs neither torch nor a simulator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from solo_doi.common.version import __version__

if TYPE_CHECKING:
    from solo_doi.algorithm.train_config import TrainConfig
    from solo_doi.api import (
        evaluate_run,
        export_bundle,
        load_bundle,
        load_dataset,
        load_run,
        make_simulator,
        make_task,
        resume,
        train,
    )
    from solo_doi.common.errors import SoloError
    from solo_doi.data.transitions import Transitions
    from solo_doi.evaluate.eval_config import EvalConfig
    from solo_doi.policies.bundle.reader import Bundle
    from solo_doi.runs.run import Run
    from solo_doi.tasks.locomotion import LocomotionConfig

__all__ = [
    "Bundle",
    "EvalConfig",
    "LocomotionConfig",
    "Run",
    "SoloError",
    "TrainConfig",
    "Transitions",
    "__version__",
    "evaluate_run",
    "export_bundle",
    "load_bundle",
    "load_dataset",
    "load_run",
    "make_simulator",
    "make_task",
    "resume",
    "train",
]

_CLASSES = {
    "Bundle": "solo_doi.policies.bundle.reader",
    "EvalConfig": "solo_doi.evaluate.eval_config",
    "LocomotionConfig": "solo_doi.tasks.locomotion",
    "Run": "solo_doi.runs.run",
    "SoloError": "solo_doi.common.errors",
    "TrainConfig": "solo_doi.algorithm.train_config",
    "Transitions": "solo_doi.data.transitions",
}
"""Module of each public class; the functions are in `solo_doi.api`."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_CLASSES.get(name, "solo_doi.api"))
    return getattr(module, name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
