"""Record the arrays of datasets and runs: `python -m tests.compatibility.record_golden FOLDER`.

Version 0.1 wrote the recorded files with the commands of GOLDEN_COLLECT and GOLDEN_TRAIN in FOLDER.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .arrays import GOLDEN_FILE, describe, machine, read_arrays

GOLDEN_COLLECT = "--task locomotion --scale 0.002 --workers 1"
GOLDEN_TRAIN = (
    "--preset 0.1 --out runs/short --outer 3 --subset 500 --classifier.updates 5 "
    "--value.expert-updates 5 "
    "--value.updates 2 --discriminator.updates 2 --policy.updates 5 --policy.hidden 16 "
    "--torch-threads 1"
)
DATASET_FILES = (
    "datasets/locomotion/expert/shard-00000.h5",
    "datasets/locomotion/offline/shard-00000.h5",
    "datasets/locomotion/coverage/shard-00000.h5",
    "datasets/locomotion/coverage/expert.h5",
    "datasets/locomotion/demonstrations/shard-00000.h5",
)
RUN_FILES = (
    "runs/short/policy.h5",
    "runs/short/expert.h5",
    "runs/short/ratios.h5",
    "runs/short/state.pt",
)


def main(folder: Path) -> None:
    """Write the golden file."""
    files = {}
    for name in DATASET_FILES + RUN_FILES:
        arrays = read_arrays(folder / name)
        files[name] = {key: describe(array) for key, array in arrays.items()}
    lines = [f'{{"machine": {json.dumps(machine())},', '"files": {']
    for name, described in files.items():
        lines.append(f"{json.dumps(name)}: {{")
        lines.append(",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in described.items()))
        lines.append("},")
    lines[-1] = "}}}"  # one line for each array, so that a difference is easy to read
    GOLDEN_FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
