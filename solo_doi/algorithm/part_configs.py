"""Settings of the parts of training: classifier, values, discriminator, multipliers, policy.

Defaults work on our data. "Paper:" in a help text is the value that the paper prints.
"""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True, kw_only=True)
class DiscriminatorConfig:
    """Skill discriminator q: predicts the skill from a state."""

    terms: tuple[str, ...] = ("linear_velocity", "angular_velocity", "gravity", "joint_position")
    """Observation terms of its input. Paper: the three numbers of the classifier."""
    average: int = 25
    """Past control steps over which the input is averaged. Paper: 1, which separates gait phases
    instead of skills."""
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

    initial: float = 0.0
    """Initial mu of every skill."""
    lr: float = 0.05
    """Learning rate of Adam; one update per outer step."""
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
