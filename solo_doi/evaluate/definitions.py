"""Definitions of all measures, as reports and metrics.json quote them."""

from __future__ import annotations

from .metrics.skill_diversity import LEAST_GUESSING, VISIBLE
from .metrics.walk import GAMMA
from .skill_evaluation import SUCCESS_SPEED

MEASURES_VERSION = 3
"""Raised when a number changes but its definition does not; older results are then replaced."""
DIVERSITY = (
    "ratio_l1",
    "ratio_l1_trajectory",
    "sf_l2",
    "sf_l2_standardised",
    "height_std",
    "told_apart",
    "mutual_information",
    "silhouette",
    "visibly_different",
)
"""Measures of diversity in the order of the report."""


def _amounts(differences: dict[str, float]) -> str:
    """Return differences in height, clearance and phase as text."""
    height = 1000 * differences["height_mean"]
    clearance = 1000 * differences["clearance"]
    phase = differences["pair_phase"]
    return f"{height:g} mm in height, {clearance:g} mm in clearance, {phase:g} cycles in phase"


DEFINITIONS = {
    "return": "mean over the episode of exp(-((vx - 1) / 0.3)^2), with the true forward velocity "
    "vx [m/s]; return_pct: in percent of the expert's return",
    "sf_l2": "mean over pairs of skills of the l2 distance between their mean successor features "
    f"(discount {GAMMA}, weights gamma^t normalised to sum 1, fallen robots included). The 33 "
    "features are base velocities, gravity, joint positions and joint velocities in SI units. "
    "sf_l2_standardised: each feature is divided by its deviation over the expert's rollouts, "
    "which is small, since they differ by their domains alone",
    "told_apart": "accuracy of a logistic regression that recognises the skill by the successor "
    "features of a rollout in a domain it was not trained on",
    "mutual_information": "lower bound (in expectation) of the information about the skill in a "
    "rollout [nats]: log |Z| minus the cross entropy of that regression's answers, mixed with "
    f"guesses. The share of guesses is at least {LEAST_GUESSING:.0%} and chosen on the training "
    "domains. About 0 for equal skills; chance may make it negative",
    "visibly_different": "largest group of skills that walk at 0.8 m/s or more, never fall, and "
    "differ in every pair: in height, clearance or phase between diagonal pairs, by a visible "
    f"amount ({_amounts(VISIBLE)}) and with 95 % intervals that do not overlap",
    "spread": "largest difference between two skills in height [m], clearance [m] and phase "
    "[cycles]",
    "averages": "over rollouts; gait measures leave out rollouts with a fall; stride frequency and "
    "phases are medians",
    "height_std": "standard deviation of the base height [m]: of the mean heights over skills, or "
    "over time within a skill",
    "power": "mean over time of |torque x velocity|, summed over joints [W]; energy: power divided "
    "by vx [J/m]",
    "intervals": "95 % bootstrap intervals over rollouts, 2000 resamples; return_pct is resampled "
    "together with the expert's rollouts in the same domains",
    "smodice": "the expert as SMODICE recovers it from the data (expert.h5 of the run); vx_pct: "
    "its velocity in percent of the expert's",
    "silhouette": "silhouette of the skills, from -1 to 1, on a UMAP of successor features that is "
    "fitted on 200 rollouts of the expert",
    "success": f"share of rollouts without a fall at {SUCCESS_SPEED:.0%} of 1 m/s or more",
    "transfer_score": "mean over skills of the success in the skill's worst condition",
    "base": "known: velocity and tilt of the base are simulated, with the errors of training; "
    "estimated: they come from the deployed estimator, which reads a simulated IMU and joints at "
    "1 kHz; robots start standing",
}
