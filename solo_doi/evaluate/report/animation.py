"""Animation of all skills of a bundle: `python -m solo_doi.evaluate.report.animation`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from solo_doi.evaluate.rollouts.recording import Recording, evaluation_task, record
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import find_bundle
from solo_doi.solo12.constants import CONTROL_DT

from .render import render

WARM_UP = 150
"""Control steps before the first picture, so that every gait is periodic."""
STRIDE = 2
"""Control steps between two pictures: 25 pictures per second."""
SIZE = (150, 200)
"""Height and width of one robot's picture [pixels]."""


def record_skill(bundle: Bundle, skill: int, steps: int) -> Recording:
    """Let one undisturbed robot walk with a skill in MuJoCo."""
    task = evaluation_task("mujoco", 1, "none", 0)

    def act(observation: np.ndarray) -> np.ndarray:
        return bundle.mean_action(observation, skill)

    with task.simulator:
        return record(task, act, steps)


def skill_frames(bundle: Bundle, frames: int) -> list[Image.Image]:
    """Draw all skills next to each other, one image per moment."""
    moments = WARM_UP + STRIDE * np.arange(frames)
    columns = []
    for skill in range(bundle.num_skills):
        recording = record_skill(bundle, skill, int(moments[-1]) + 1)
        columns.append(render(recording, 0, moments, SIZE))
    images = []
    for pictures in zip(*columns, strict=True):
        image = Image.fromarray(np.concatenate(pictures, axis=1))
        draw = ImageDraw.Draw(image)
        for skill in range(bundle.num_skills):
            draw.text((skill * SIZE[1] + 6, 4), f"skill {skill}", fill="black")
        images.append(image)
    return images


def write_animation(bundle: Bundle, path: Path, frames: int = 50, quality: int = 55) -> None:
    """Write an animated WebP that repeats for ever, in real time."""
    first, *others = skill_frames(bundle, frames)
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=round(1000 * STRIDE * CONTROL_DT),
        loop=0,
        quality=quality,
        method=6,
    )


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
