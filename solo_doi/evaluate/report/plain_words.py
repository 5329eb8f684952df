"""Meanings of all measures in plain words, and what is good, as a report shows them.

A reader needs neither the paper nor the formulas; `definitions.py` has the exact ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solo_doi.evaluate.metrics.visible_difference import (
    LARGEST_FALL_SHARE,
    SLOWEST_WALK,
    VISIBLY,
)

DIVERSITY = {
    "ratio_l1": "distance of ratios (l1, 0 to 2)",
    "ratio_l1_trajectory": "distance of ratios per trajectory (l1, 0 to 2)",
    "sf_l2": "distance of successor features (l2, SI units)",
    "sf_l2_standardised": "distance of successor features (l2, deviations of the expert)",
    "height_std": "deviation of heights [m]",
    "told_apart": "rollouts that a classifier names correctly (share)",
    "mutual_information": "information about the skill in a rollout [nats]",
    "silhouette": "silhouette of successor features (-1 to 1)",
    "walking": "skills that walk",
    "visibly_different": "visibly different skills",
    "visibly_different_pairs": "visibly different pairs",
    "clearly_different": "clearly different skills",
    "clearly_different_pairs": "clearly different pairs",
    "pairs": "pairs in all",
    "two_gaits": "skills with two gaits",
    "two_gaits_plain": "skills with two gaits or a wide spread (plain rule)",
    "two_gaits_not_judged": "skills not judged for two gaits",
}
"""Measures of diversity in the order of the report, with plain names."""
WALK_MEANINGS = {
    "return": "how well the commanded forward velocity is kept, compared with the expert that the "
    "skills imitate. Good: 90 % or more",
    "velocity": "mean forward velocity. Good: near the commanded one",
    "height": "of the body above the ground, and how much it bobs",
    "clearance": "how high the feet are lifted",
    "stride frequency": "steps of each foot per second",
    "duty factor": "share of time that a foot is on the ground",
    "pitch": "how far the body leans forward",
    "phase of pairs": "delay between the two diagonal pairs of legs, in shares of a step; 0.5 is a "
    "trot",
    "sideways drift and turn": "distance from the straight line and change of heading at the end. "
    "Good: near 0",
    "energy": "mechanical work per metre. Less is better",
    "falls": "walks with a fall, and the share to expect: with 95 % certainty it is between the "
    "two numbers. Good: 0",
    "recovered expert": "one policy that imitates the expert from the same data, without skills "
    "(the method SMODICE). The skills cannot be expected to walk better",
}
"""Meanings of the columns in the table of skills."""
PLAIN_DIVERSITY = {
    "ratio_l1": "how differently two skills weigh the steps in the data they learn from. 0: all "
    "skills learn from the same steps, 2: they have no step in common. Good: above 1",
    "ratio_l1_trajectory": "the same for whole walks in the data. Good: above 1",
    "sf_l2": "distance between the average motions of two skills. An average motion (successor "
    "features) has velocities and tilt of the body, positions and velocities of the joints; "
    "early moments count more. More is more diverse",
    "sf_l2_standardised": "the same, with every number divided by its variation between walks of "
    "the expert. More is more diverse",
    "height_std": "how much the skills differ in body height. Good: above 0.01 m, which can be "
    "seen",
    "told_apart": "a simple program sees one walk and names the skill: share of right answers. "
    "Guessing gives 1 divided by the number of skills. Good: near 1",
    "mutual_information": "how much one walk says about its skill. 0: nothing. At most the "
    "logarithm of the number of skills, 1.61 for five. One nat is 1.44 bits",
    "silhouette": "near 1: walks of one skill resemble each other and no other skill. Below 0: "
    "they resemble another skill more. Good: above 0.5",
    "walking": f"numbers of the skills that reach {SLOWEST_WALK:g} m/s and fall in fewer than "
    f"{LARGEST_FALL_SHARE:.0%} of walks. Good: all skills",
    "visibly_different": "largest group of skills of which every two differ by something that a "
    f"person sees: {1000 * VISIBLY.visible['height_mean']:g} mm in height, "
    f"{1000 * VISIBLY.visible['clearance']:g} mm in lift of the feet or "
    f"{VISIBLY.visible['pair_phase']:g} of a step in rhythm. Good: all skills",
    "visibly_different_pairs": "number of pairs of skills that differ so",
    "clearly_different": "the same with stricter differences, also in rhythm, lean and time on "
    "the ground. Good: all skills",
    "clearly_different_pairs": "number of pairs of skills that differ so",
    "pairs": "number of pairs that can be formed of the skills",
    "two_gaits": "skills that sometimes walk in one way and sometimes in another, without a "
    "command. Good: none",
    "two_gaits_plain": "the same by a rule that also reports one way of walking with large "
    "variation. Good: none",
    "two_gaits_not_judged": "skills with too few walks to decide. Good: none",
}
"""Meanings of the measures of diversity, by their names in metrics.json."""
TRANSFER_MEANINGS = {
    "simulator and randomisation": "where the skill was tried. none: one exact robot; robust: "
    "masses, friction, motors, delays and pushes vary widely from walk to walk",
    "base velocity and tilt": "known: from the simulation, with sensor errors. estimated: computed "
    "from joints and inertial sensor, as on the robot",
    "success": "share of walks without a fall that reach the speed of the rule; with 95 % "
    "certainty it is between the two numbers. Good: near 1",
    "sideways drift": "distance from the straight line at the end. Good: below that of the rule",
}
"""Meanings of the columns in the transfer table."""
DIVERGENCE_MEANING = (
    "How far the walks of a skill are from those of the expert (Kullback-Leibler divergence of "
    "visited states, in nats, with its standard error). 0: the same walks. Training limits the "
    "divergence in its own estimate, `phi of the ratios`; a policy that is much further from the "
    "expert than that was not cloned well."
)
MAP_MEANING = (
    "Map of walks (UMAP): every point is one walk, and similar walks are near to each other. "
    "Separate groups are different ways of walking; directions and distances between far groups "
    "mean nothing."
)
TRAINING_MEANING = (
    "Training weighs every step of the data for every skill (its ratio), so that skills differ and "
    "stay near to the expert. A multiplier is the price of leaving the expert: it rises while a "
    "skill is too far away."
)


def diversity_facts(metrics: Mapping[str, Any]) -> list[tuple[str, object, str]]:
    """Return all measures of diversity that were measured: title, value and meaning."""
    return [
        (title, _listed(metrics[name]), PLAIN_DIVERSITY[name])
        for name, title in DIVERSITY.items()
        if name in metrics
    ]


def _listed(value: object) -> object:
    """Return a list of skills as text; other values as they are."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None:
        return "not judged"
    return value
