"""What the numbers of an evaluation mean, as every report and metrics.json say it."""

from __future__ import annotations

from .metrics.skill_diversity import LEAST_GUESSING, SEEN
from .metrics.walk import GAMMA
from .skill_evaluation import SUCCESS_SPEED

MEASURES = 3
"""Raised whenever a number comes out differently though its definition reads the same: older ones are made anew."""
DIVERSITY = (
    "ratio_l1", "ratio_l1_trajectory", "sf_l2", "sf_l2_standardised", "height_std", "told_apart",
    "mutual_information", "silhouette", "visibly_different",
)  # fmt: skip


def _amounts(differences: dict[str, float]) -> str:
    """Differences in height, clearance and phase as text."""
    height, clearance = (
        f"{1000 * differences[name]:g} mm" for name in ("height_mean", "clearance")
    )
    return f"{height} in height, {clearance} in clearance, {differences['pair_phase']:g} cycles in phase"


DEFINITIONS = {
    "return": "mean over the episode of exp(-((vx - 1) / 0.3)^2), vx true, in m/s; return_pct: of the expert's",
    "sf_l2": f"mean over pairs of skills of the l2 distance of mean successor features, gamma {GAMMA}, 33 features: "
    "velocities, gravity, joint positions and velocities in SI units, averaged with weights gamma^t that sum to 1, "
    "robots that fell included; standardised: each feature divided by its deviation between the expert's rollouts, "
    "which is small, as they differ by their domains alone",
    "told_apart": "accuracy of a logistic regression on successor features of rollouts in domains it never saw",
    "mutual_information": "log |Z| minus the cross entropy of that regression's answers there, nats, mixed with "
    f"guesses: {LEAST_GUESSING:.0%} of them or more, as suits the domains it was trained on; a lower bound in "
    "expectation, about 0 (by chance below) if skills are alike",
    "visibly_different": "largest group of skills that walk at 0.8 m/s or more, never fall, and differ in every pair, "
    f"in height, clearance or phase between diagonal pairs: by what an eye can see ({_amounts(SEEN)}), and beyond 95 % "
    "intervals",
    "spread": "largest difference between two skills in height, m, clearance, m, and phase, cycles",
    "averages": "over rollouts; of the gait over those without a fall, stride and phases by their median",
    "height_std": "standard deviation over skills of the mean base height, m; within a skill: over time",
    "power": "mean of |torque x velocity| over all joints, W; energy: power divided by vx, J/m",
    "intervals": "95 %, by drawing rollouts anew 2000 times; return_pct with the expert's of the same domains",
    "smodice": "the expert as SMODICE recovered it, expert.h5 of the run; vx_pct: its vx in percent of the expert's",
    "silhouette": "of skills on a UMAP of successor features fitted on 200 rollouts of the expert, from -1 to 1",
    "success": f"share of rollouts without a fall at {SUCCESS_SPEED:.0%} of 1 m/s or more",
    "transfer_score": "mean over skills of the success in the condition that is worst for the skill",
    "base": "known: velocity and tilt as simulated, with the errors of training; estimated: by the deployed estimator, "
    "from simulated IMU and joints at 1 kHz, robots standing at first",
}
