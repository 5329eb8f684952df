"""Each kind of run directory has one module that spells the names of its files."""

from __future__ import annotations

import ast

import pytest

from .source_files import FILES

RUNS = "solo_doi.runs.run_files"
PRETRAINING = "collect.dominic.pretrain_files"
OWNERS = {
    # config.yaml and summary.json are also files of a deployment, which is another directory.
    "config.yaml": {RUNS, PRETRAINING, "deploy.common.deploy_config"},
    "summary.json": {RUNS, "deploy.launch.deployment_report"},
    "provenance.json": {RUNS, PRETRAINING},
    "metrics.json": {RUNS},
    "metrics.jsonl": {"solo_doi.common.metrics_log"},
    "tensorboard": {"solo_doi.common.metrics_log"},
    ".lock": {"solo_doi.common.lock"},
    "state.pt": {RUNS, PRETRAINING},
    "ratios.h5": {RUNS},
    "policy.h5": {RUNS},
    ".policy.h5": {RUNS},
    ".pt": {RUNS, PRETRAINING},
    "outer_": {RUNS},
    "model_": {PRETRAINING},
}
"""Names of files, and the modules that may spell them."""


def spelt_names(source: str) -> set[str]:
    """Return the names of files that are string literals, or parts of f-strings, in a module."""
    constants = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return {node.value for node in constants if isinstance(node.value, str)} & {*OWNERS}


@pytest.mark.parametrize("module", FILES)
def test_only_the_owner_spells_a_file_name(module: str) -> None:
    """Other modules use RunFiles or PretrainFiles."""
    spelt = spelt_names(FILES[module].read_text())
    assert {name for name in spelt if module not in OWNERS[name]} == set()


def test_every_owner_spells_its_names() -> None:
    """The table has no entry that the code no longer needs."""
    for name, modules in OWNERS.items():
        for module in modules:
            assert name in spelt_names(FILES[module].read_text()), (name, module)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('CONFIG = "config.yaml"', "config.yaml"),
        ('path = run / f"model_{n}.pt"', "model_"),
        ('def f():\n    return path.suffix == ".pt"', ".pt"),
    ],
)
def test_a_planted_name_is_found(source: str, name: str) -> None:
    assert name in spelt_names(source)
