"""Animation of all skills of a bundle: `python -m solo_doi.evaluate.report.animation`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from solo_doi.evaluate.rollouts.recording import Recording, evaluation_task, record
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import find_bundle

from .side_by_side import frames_of, write_frames

WARM_UP = 150
"""Control steps before the first picture, so that every gait is periodic."""
STRIDE = 2
"""Control steps between two pictures: 25 pictures per second."""


def record_skill(bundle: Bundle, skill: int, steps: int) -> Recording:
    """Let one undisturbed robot walk with a skill in MuJoCo."""
    task = evaluation_task("mujoco", 1, "none", 0)

    def act(observation: np.ndarray) -> np.ndarray:
        return bundle.mean_action(observation, skill)

    with task.simulator:
        return record(task, act, steps)


def write_animation(bundle: Bundle, path: Path, frames: int = 50) -> None:
    """Write an animated WebP of all skills in one row."""
    moments = WARM_UP + STRIDE * np.arange(frames)
    films = {}
    for skill in range(bundle.num_skills):
        films[f"skill {skill}"] = record_skill(bundle, skill, int(moments[-1]) + 1)
    write_frames(frames_of(films, moments, bundle.num_skills), path, STRIDE)


def main() -> None:
    """Write the animation of a bundle; that of the README by default."""
    parser = argparse.ArgumentParser(description="Animate the skills of a bundle side by side.")
    parser.add_argument("path", type=Path, nargs="?", default=Path("solo_doi/docs/skills.webp"))
    parser.add_argument("--bundle", type=Path, help="bundle of solo-export; default: locomotion")
    parser.add_argument("--frames", type=int, default=50, help="number of pictures, 25 per second")
    arguments = parser.parse_args()
    write_animation(Bundle(find_bundle(arguments.bundle)), arguments.path, arguments.frames)


if __name__ == "__main__":
    main()
