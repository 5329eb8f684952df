"""Definitions of all measures, as reports and metrics.json quote them."""

from __future__ import annotations

from collections.abc import Mapping

from .metrics.intervals import LEAST_TRIALS
from .metrics.modes import LARGEST_VALLEY
from .metrics.skill_diversity import LEAST_GUESSING
from .metrics.two_gaits import LEAST_ROLLOUTS, LEAST_SHARE
from .metrics.visible_difference import (
    CLEARLY,
    LARGEST_FALL_SHARE,
    RESOLUTION,
    SLOWEST_WALK,
    VISIBLY,
)
from .metrics.walk import GAMMA
from .policy_divergence import LEAST_TRAJECTORIES
from .selection import LARGEST_DRIFT
from .skill_evaluation import SUCCESS_SPEED
from .state_projection import APART

MEASURES_VERSION = 5
"""Raised when a number changes but its definition does not; older results are then replaced."""
AMOUNTS = {
    "height_mean": (1000, "mm in height"),
    "clearance": (1000, "mm in clearance"),
    "pair_phase": (1, "cycles in phase between diagonal pairs"),
    "frequency": (1, "Hz in stride frequency"),
    "pitch": (1, "degrees in pitch"),
    "duty": (1, "in duty factor"),
}
"""Factor and unit in which a difference is written."""


def _amounts(differences: Mapping[str, float]) -> str:
    """Return differences as text."""
    parts = []
    for name, value in differences.items():
        factor, unit = AMOUNTS[name]
        parts.append(f"{factor * value:g} {unit}")
    return ", ".join(parts)


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
    "walking": f"skills with a mean velocity of {SLOWEST_WALK:g} m/s or more over rollouts that "
    f"did not fall, and falls in fewer than {LARGEST_FALL_SHARE:.0%} of rollouts",
    "visibly_different": "largest group of walking skills that differ in every pair: in one "
    f"measure by a visible amount or more ({_amounts(VISIBLY.visible)}), with 95 % intervals that "
    "do not overlap. visibly_different_pairs: number of pairs that differ so, of `pairs`",
    "clearly_different": "the same with more measures and a stricter comparison: "
    f"{_amounts(CLEARLY.visible)}; the difference is also at least {CLEARLY.deviations:g} times "
    "the standard deviation between rollouts of one skill, pooled over the two (for medians: 1.48 "
    f"median absolute deviations, of frequencies at least {RESOLUTION['frequency']:g} Hz)",
    "two_gaits": "skills that split clearly, as in two_gaits_plain, and into separate modes. The "
    f"smoothed density has a valley of at most {LARGEST_VALLEY:g} times the lower peak, with "
    f"{LEAST_SHARE:.0%} of the rollouts on either side. Two to four normal modes are about as "
    "likely as one broad mode of any shape, or likelier. two_gaits_in: the measures; null if the "
    f"skill has fewer than {LEAST_ROLLOUTS} rollouts without a fall. two_gaits_not_judged: such "
    "skills",
    "two_gaits_plain": f"skills of which the best split of {LEAST_ROLLOUTS} or more rollouts, in "
    f"one measure of clearly_different, has {LEAST_SHARE:.0%} or more in each part, and means of "
    "the parts that differ clearly. The split has the smallest variance within its parts. One gait "
    "with a wide spread is also flagged",
    "spread": "largest difference between two skills in each measure of clearly_different, in SI "
    "units, cycles and degrees",
    "pitch": "mean pitch of the base [degrees], positive with the nose down",
    "duty": "share of time that a foot is on the ground, mean over feet",
    "drift": "distance from the line along the first heading at the end of the rollout [m]; "
    "drift_mean: mean over skills; yaw_drift: angle between first and last heading [degrees]",
    "falls": "number of rollouts with a fall; fall_share: their share, with Wilson's 95 % "
    f"interval; falls_pooled: over all skills; few_rollouts: true for fewer than {LEAST_TRIALS}, "
    "from which a share says little",
    "policy_divergence": "KL divergence of the states that each policy visits from the expert's "
    "[nats]; phi is the same of the ratios, on states and actions. States are what classifier and "
    "discriminator of the training see, with sensor noise, as averages and swings over past steps, "
    f"{APART} steps or more apart; rollouts that fell are left out. The randomisation is that of "
    "the data; the policies act without exploration noise. expert: the data, weighted by the "
    "recovered expert's ratios as cloning has them (by default their means over trajectories); "
    "demonstrations: the expert's own states, if there are enough trajectories; minus_phi: "
    "expert minus phi; expert_error and demonstrations_error: standard errors. Both sides are "
    "Gaussian mixtures; a jackknife over trajectories removes the bias of few states and gives the "
    f"errors. Each side needs {LEAST_TRAJECTORIES} trajectories per number of a state",
    "averages": "over rollouts; gait measures leave out rollouts with a fall; stride frequency and "
    "phases are medians",
    "height_std": "standard deviation of the base height [m]: of the mean heights over skills, or "
    "over time within a skill",
    "power": "mean over time of |torque x velocity|, summed over joints [W]; energy: power divided "
    "by vx [J/m]",
    "intervals": "95 % bootstrap intervals over rollouts, 2000 resamples (of falls and success: "
    "Wilson's); return_pct is resampled together with the expert's rollouts in the same domains",
    "smodice": "the expert as SMODICE recovers it from the data (expert.h5 of the run); vx_pct: "
    "its velocity in percent of the expert's",
    "silhouette": "silhouette of the skills' rollouts, from -1 to 1, in standardised successor "
    "features; above 0, rollouts are nearest to their own skill",
    "success": f"share of rollouts without a fall at {SUCCESS_SPEED:.0%} of 1 m/s or more",
    "selected": "skills that succeed often enough, with a mean drift of at most "
    f"{LARGEST_DRIFT:g} m, in every condition of the transfer table; ranking: best first",
    "transfer_score": "mean over skills of the success in the skill's worst condition",
    "base": "known: velocity and tilt of the base are simulated, with the errors of training; "
    "estimated: they come from the deployed estimator, which reads a simulated IMU and joints at "
    "1 kHz; robots start standing",
}
