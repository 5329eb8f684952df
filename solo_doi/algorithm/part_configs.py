"""Settings of the parts of training: classifier, values, discriminator, multipliers, policy.

Defaults work on our data. "Paper:" in a help text is the value that the paper prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig:
    """State classifier c: separates states of the expert from states of the data."""

    terms: tuple[str, ...] = ("linear_velocity.x", "linear_velocity.y", "angular_velocity.z")
    """Observation terms of its input (the projection): TERM for a whole term, TERM.x or TERM.0 for
    one number of it."""
    average: int = 25
    """Past control steps over which the input is averaged, against sensor noise. Paper: 1."""
    hidden: int = 256
    """Units per hidden layer."""
    updates: int = 800
    """Number of updates."""
    batch: int = 512
    """States of the expert, and as many of the data, per minibatch."""
    lr: float = 1e-3
    """Learning rate of Adam."""
    gradient_penalty: float = 0.0
    """Weight of the gradient penalty. Paper: 10, which makes a classifier of three numbers too
    flat."""
    reward_scale: float = 3.0
    """Factor on the logit. Paper: 1."""


@dataclass(frozen=True, kw_only=True)
class ValueConfig:
    """Dual values V_E of the expert and V_z of the skills."""

    hidden: int = 128
    """Units per hidden layer."""
    lr: float = 3e-4
    """Learning rate of Adam."""
    weight_decay: float = 1e-4
    """L2 penalty on the weights."""
    windows: int = 8
    """Trajectory pieces per minibatch."""
    window: int = 64
    """Transitions per piece. Neighbouring transitions share a state and its value."""
    initial_batch: int = 128
    """Initial states per minibatch."""
    expert_updates: int = 3000
    """Updates of the expert's value, before the skills are trained."""
    updates: int = 20
    """Updates of the skills' values per outer step."""
    averaged: bool = False
    """Average over all next states of a state and action, instead of using the one of each row.
    Needed where transitions are random. For discrete data only: values are tables, and an update is
    a Newton step on all data, without minibatches."""


@dataclass(frozen=True, kw_only=True)
class DiscriminatorConfig:
    """Skill discriminator q: predicts the skill from a state."""

    terms: tuple[str, ...] = ("linear_velocity", "angular_velocity", "gravity", "joint_position")
    """Observation terms of its input. Paper: the three numbers of the classifier."""
    average: int = 25
    """Past control steps over which the input is averaged. Paper: 1, which separates gait phases
    instead of skills."""
    whole: bool = False
    """Average over the whole trajectory instead of past steps. Separates routes, which differ in
    the order of motions. Paper: no."""
    swing_terms: tuple[str, ...] = ("joint_position", "joint_velocity")
    """Observation terms whose standard deviation over the averaged steps is also an input. It shows
    how high and how fast feet are lifted. Not used with a common `projection`, with `whole`, and
    with `average` 1: one step has no deviation. Paper: none."""
    noise: float = 0.0
    """Deviation of the noise on its inputs in training, as a share of their deviation over the
    expert's weight. Smaller differences between skills earn no reward. Paper: 0."""
    background: float = 0.0
    """Weight of the expert as one more class, beside the skills. A skill must then differ from the
    expert's average, too, and stays compact. Paper: 0, no such class."""
    start: Literal["clusters", "random"] = "clusters"
    """First discriminator: fitted to clusters of trajectories with the expert's weight, or random.
    Paper: random."""
    start_updates: int = 400
    """Updates on the clusters."""
    hidden: int = 128
    """Units per hidden layer."""
    members: int = 5
    """Networks of the ensemble."""
    updates: int = 20
    """Updates per outer step."""
    batch: int = 256
    """States per minibatch."""
    lr: float = 1e-3
    """Learning rate of Adam."""
    log_floor: float = -4.6
    """Smallest log q in a reward; limits the reward of states that are clearly another skill's."""
    hold: float = 0.25
    """Share of the outer steps, at the end, with a fixed discriminator, so that the multipliers
    settle."""
    held_out: float = 0.1
    """Share of the trajectories that it is not trained on; its accuracy is reported on them."""
    disdain: float = 0.1
    """Weight of the bonus for states on which the members disagree; 0: no bonus."""
    disdain_steps: int = 0
    """Outer steps over which that weight decays to zero; 0: it is constant."""


@dataclass(frozen=True, kw_only=True)
class MultiplierConfig:
    """Learning of the bounded multipliers sigma(mu)."""

    method: Literal["gradient", "solve"] = "solve"
    """solve: find the multipliers with which phi equals eps for the present values and
    discriminator, and move by `share` towards them. gradient: one step of Adam per outer step, as
    in the paper."""
    share: float = 0.5
    """Part of the way to the solution that is made in one outer step; for `solve`."""
    initial: float = 0.0
    """Initial mu of every skill; for `gradient`."""
    lr: float = 0.05
    """Learning rate of Adam; for `gradient`."""
    bound: float = 6.0
    """Largest absolute value of mu."""


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Policy of all skills, cloned from weighted data."""

    hidden: int = 256
    """Units per hidden layer."""
    updates: int = 6000
    """Updates after the loop, of the expert and all skills together; half as many make skills more
    alike. Not used with `in_loop`, where skills have one update per update of the values."""
    expert_updates: int = 6000
    """Updates of the expert's policy after the loop; used only with `in_loop`."""
    batch: int = 256
    """Rows per skill and minibatch. With `in_loop`, skills learn from the minibatches of the
    values."""
    lr: float = 1e-3
    """Initial learning rate; decays linearly to a hundredth, except for skills with `in_loop`."""
    averaged_share: float = 0.25
    """Share of the updates, at the end, over which the weights are averaged; not used for skills
    with `in_loop`. Paper: 0."""
    noise: float = 0.0
    """Deviation of the noise on normalised observations."""
    input_clip: float = 0.0
    """Largest input of the policy [deviations of the data]; larger ones are clipped. 0: no limit.
    An input far outside of the data, such as a higher box, would change all units. Paper: 0."""
    variance_power: float = 0.0
    """Power of the predicted variance by which each action's log density is weighted. 0: maximum
    likelihood, which neglects states with a wrong prediction; 1: squared error. Paper: 0."""
    resampled: bool = True
    """Draw rows by weight. Paper, and always with `in_loop`: draw evenly and weight the loss."""
    trajectory_weights: bool = True
    """Give every row the mean weight of its trajectory, which one policy made. Not used for skills
    with `in_loop`."""
    squashed: bool = False
    """Use tanh of a Gaussian, as in the paper; otherwise a Gaussian with its mean clipped to the
    range of the data."""
    entropy: bool = False
    """Keep the entropy above minus the number of actions, as in the paper; needs `squashed`."""
    in_loop: bool = False
    """Train the skills' policy in every outer step, as in the paper, instead of once at the end.
    Nothing else depends on it. The expert's policy is cloned at the end in both cases."""
