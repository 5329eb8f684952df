"""Train skills from datasets, evaluate them in simulation and export them for the robot.

Collect the datasets with `solo-collect --task locomotion` in the same folder before.
"""

import solo_doi

run = solo_doi.train(
    "datasets/locomotion/coverage",
    "datasets/locomotion/demonstrations",
    out="runs/example",
    config=solo_doi.TrainConfig(eps=4.0),
)
for skill, divergence in enumerate(run.summary["phi"]):
    print(f"skill {skill}: {divergence:.2f} nats from the expert")

settings = solo_doi.EvalConfig(episodes=4, steps=100, pictures=False)
metrics = solo_doi.evaluate_run(run, config=settings)
for skill in metrics["skills"]:
    speed = skill["vx"]
    print(f"skill {skill['skill']}: {speed:.2f} m/s, {skill['return_pct']:.0f} % of the expert")

bundle = solo_doi.export_bundle(run)
print(f"{run.files.bundle}: {bundle.num_skills} skills")
