"""Run a bundle in a simulator: every robot walks with another skill.

Usage: python run_bundle.py [BUNDLE.onnx]   (the shipped bundle by default)
"""

import sys

import numpy as np

import solo_doi

STEPS = 100  # control steps of 20 ms

bundle = solo_doi.load_bundle(sys.argv[1] if len(sys.argv) > 1 else "locomotion")
skills = np.arange(bundle.num_skills)
settings = solo_doi.LocomotionConfig(randomisation="none", standing_share=1.0, early_end=False)

with solo_doi.make_simulator("mujoco", num_robots=len(skills)) as simulator:
    task = solo_doi.make_task(simulator, "locomotion", seed=1, config=settings)
    observation = task.observe()
    start = simulator.state().base_position_w.copy()
    for _ in range(STEPS):
        observation = task.step(bundle.mean_action(observation, skills)).observation
    travelled = simulator.state().base_position_w - start

for skill, distance in zip(skills, travelled, strict=True):
    print(f"skill {skill}: {distance[0]:+.2f} m forward in {STEPS * 0.02:.0f} s")
