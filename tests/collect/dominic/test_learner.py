"""Effect of one iteration on the weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from collect.dominic.experience import Rollout
from collect.dominic.learner import LR_BOUNDS, Learner
from collect.dominic.pretrain_config import DiversityConfig, PretrainConfig
from solo_doi.tasks.features import MOTION
from solo_doi.tasks.locomotion import LocomotionTask
from tests.bits import differing

from .runs import tiny

STEPS, ROBOTS = 4, 16
close = torch.testing.assert_close


def learner(config: PretrainConfig, seed: int = 0) -> Learner:
    """Return networks drawn from a seed."""
    return Learner(config, torch.Generator().manual_seed(seed))


def experience(subject: Learner, seed: int = 1) -> Rollout:
    """Return a made-up rollout with actions and log-probabilities of the learner's policy."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    rollout = Rollout.empty(STEPS, ROBOTS, LocomotionTask, MOTION)
    skill = skills(subject.config)
    rollout.raw[:] = normal(STEPS, ROBOTS, 48)
    rollout.observation[:] = subject.normaliser(rollout.raw)
    rollout.final[:] = subject.normaliser(normal(STEPS, ROBOTS, 48))
    with torch.no_grad():
        rollout.mean[:] = torch.stack([subject.policy(row, skill) for row in rollout.observation])
        rollout.action[:] = rollout.mean + subject.policy.log_std.exp() * normal(STEPS, ROBOTS, 12)
        rollout.log_prob[:] = subject.policy.log_prob(rollout.mean, rollout.action)
    rollout.reward[:] = torch.rand(STEPS, ROBOTS, 2, generator=generator)
    rollout.score[:] = rollout.reward[..., 1]
    rollout.features[:] = normal(STEPS, ROBOTS, 7)
    rollout.fallen[:] = torch.rand(STEPS, ROBOTS, generator=generator) < 0.1
    rollout.ended[:] = torch.maximum(
        rollout.fallen, (torch.rand(STEPS, ROBOTS, generator=generator) < 0.1).float()
    )
    return rollout


def skills(config: PretrainConfig) -> Tensor:
    """Return the skill of each robot."""
    return torch.arange(ROBOTS) % config.num_skills


def after(config: PretrainConfig, iterations: int = 3, first: int = 0) -> Learner:
    """Return a learner after some iterations on rollouts of its policy."""
    subject = learner(config)
    for iteration in range(first, first + iterations):
        rollout = experience(subject, seed=iteration)
        subject.learn(rollout, skills(config), iteration, iteration * STEPS * ROBOTS)
    return subject


# --- Seeds and gradients -------------------------------------------------------------------------


def test_the_same_seed_learns_the_same_weights() -> None:
    """All networks, normalisers and multipliers are equal to the last bit."""
    assert not differing(after(tiny()).state_dict(), after(tiny()).state_dict())


def test_all_weights_change() -> None:
    """A network without an optimiser would keep its initial weights."""
    before, now = learner(tiny()).state_dict(), after(tiny()).state_dict()
    fixed = set(before) - {name.lstrip(".") for name in differing(before, now)}
    assert {name for name in fixed if "mask" not in name} == set()
    assert {"policy.network.mask0", "values.mask1", "successor.mask0"} <= fixed


def test_every_optimisers_gradients_are_zero_at_the_start_of_its_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This holds before each backward pass that reaches the parameters.

    The original code accumulates the gradients of the multipliers.
    """
    subject = learner(tiny())
    optimisers = {
        "policy and values": subject.optimiser,
        "successor": subject.successor_optimiser,
        "multipliers": subject.multipliers.optimiser,
    }
    cleared: dict[str, list[bool]] = {name: [] for name in optimisers}
    parameters = {
        name: [parameter for group in optimiser.param_groups for parameter in group["params"]]
        for name, optimiser in optimisers.items()
    }
    original: Callable[..., None] = Tensor.backward

    def backward(loss: Tensor, *arguments: object, **keywords: object) -> None:
        reached = reachable(loss)
        for name, members in parameters.items():
            if any(id(member) in reached for member in members):
                cleared[name].append(
                    all(member.grad is None or not member.grad.any() for member in members)
                )
        original(loss, *arguments, **keywords)

    monkeypatch.setattr(Tensor, "backward", backward)
    for iteration in range(1, 3):
        subject.learn(experience(subject), skills(subject.config), iteration, 0)
    updates = 2 * subject.config.epochs * subject.config.minibatches
    assert {name: len(flags) for name, flags in cleared.items()} == {
        "policy and values": updates,
        "successor": updates,
        "multipliers": 2,
    }
    assert all(all(flags) for flags in cleared.values()), cleared


def reachable(loss: Tensor) -> set[int]:
    """Return the identities of the leaves that a loss depends on."""
    found, nodes = set(), [loss.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is None:
            continue
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        nodes += [child for child, _ in node.next_functions]
    return found


# --- Diversity -----------------------------------------------------------------------------------


def repelled_and_attracted(burn_in: int) -> tuple[Learner, Learner]:
    """Run the second iteration under two opposite diversity objectives."""
    attraction = DiversityConfig(burn_in=burn_in, attraction=0.9, length=0.1)
    repelled, attracted = (
        after(config, iterations=1, first=1)
        for config in (tiny(burn_in), tiny(diversity=attraction))
    )
    return repelled, attracted


def test_in_the_burn_in_the_diversity_objective_does_not_reach_the_policy() -> None:
    """Attraction instead of repulsion gives other intrinsic values but the same policy."""
    repelled, attracted = repelled_and_attracted(burn_in=10)
    assert not differing(repelled.policy.state_dict(), attracted.policy.state_dict())
    assert differing(repelled.values.state_dict(), attracted.values.state_dict())
    assert not repelled.multipliers.raw.any()


def test_after_the_burn_in_the_diversity_objective_reaches_the_policy() -> None:
    """This shows that the test above can fail."""
    repelled, attracted = repelled_and_attracted(burn_in=0)
    assert differing(repelled.policy.state_dict(), attracted.policy.state_dict())
    assert repelled.multipliers.raw.all()


def test_the_target_skill_is_not_reached_by_the_diversity_objective() -> None:
    """The weight of the target skill is one, so the intrinsic advantage does not count.

    The advantages of other skills differ.
    """
    advantages = []
    for learning in repelled_and_attracted(burn_in=0):
        rollout = experience(learner(learning.config))
        batch, _ = learner(learning.config)._prepare(rollout, skills(learning.config), True, 0)
        advantages.append(batch.advantage.view(STEPS, ROBOTS))
    target = skills(tiny()) == 0
    close(advantages[0][:, target], advantages[1][:, target], rtol=0, atol=0)
    assert (advantages[0][:, ~target] != advantages[1][:, ~target]).any()


def test_the_burn_in_includes_the_iteration_it_names() -> None:
    """As in the original code, the burn-in is iterations 0 to `burn_in`.

    The next iteration is the first to change the multipliers.
    """
    assert not after(tiny(burn_in=2), iterations=1, first=2).multipliers.raw.any()
    assert after(tiny(burn_in=2), iterations=1, first=3).multipliers.raw.all()


def test_a_single_skill_has_no_diversity_at_all() -> None:
    """The expert has no intrinsic reward, no learned successor features and no multiplier."""
    expert = learner(tiny(num_skills=1))
    drawn = {name: value.clone() for name, value in expert.successor.state_dict().items()}
    metrics = expert.learn(experience(expert), skills(expert.config), 50, 0)
    assert not differing(drawn, expert.successor.state_dict())
    assert (
        metrics["reward/intrinsic"]
        == metrics["skills/distance"]
        == metrics["loss/successor"]
        == 0.0
    )
    assert not expert.multipliers.raw.any()


def test_skills_learn_different_policies_from_the_same_reward() -> None:
    """Skills differ only through their masks and the diversity objective."""
    subject, x = after(tiny(), iterations=5), torch.ones(1, 48)
    actions = torch.cat([subject.policy(x, torch.tensor([skill])) for skill in range(3)])
    assert len(actions.unique(dim=0)) == 3


# --- Rewards, values, normalisers ----------------------------------------------------------------


def test_running_task_values_are_averages_of_rewards_to_come() -> None:
    """The values are scaled by 1 - gamma.

    A constant task reward of 0.3, with correct values, gives 0.3 for every skill.
    """
    subject = learner(tiny())
    rollout = experience(subject)
    rollout.reward[..., 1] = 0.3
    rollout.fallen[:] = rollout.ended[:] = 0.0
    with torch.no_grad():
        for parameter in subject.values.parameters():
            parameter.zero_()
        subject.values.head.bias[1] = 0.3
    subject.learn(rollout, skills(subject.config), 0, 0)
    close(subject.multipliers.value, torch.full((3,), 0.3))


def test_skills_may_be_held_to_their_tracking_alone() -> None:
    """Robots of skill z track with 0.2 z; these are the values for any task reward."""
    subject = learner(tiny(diversity=DiversityConfig(burn_in=0, constraint="score")))
    rollout = experience(subject)
    rollout.score[:] = 0.2 * skills(subject.config)
    subject.learn(rollout, skills(subject.config), 0, 0)
    close(subject.multipliers.value, torch.tensor([0.0, 0.2, 0.4]))


def test_logged_rewards_are_means_per_step() -> None:
    """The rewards are those of the task, without the factor 1 - gamma."""
    subject = learner(tiny())
    rollout = experience(subject)
    metrics = subject.learn(rollout, skills(subject.config), 0, 0)
    assert metrics["reward/regular"] == pytest.approx(
        float(rollout.reward[..., 0].mean()), rel=1e-4
    )
    assert metrics["reward/task"] == pytest.approx(float(rollout.reward[..., 1].mean()), rel=1e-4)
    assert metrics["falls"] == pytest.approx(float(rollout.fallen.mean()))


def test_normalisers_count_every_sample_once() -> None:
    """Statistics include raw observations and features of the rollout, after learning."""
    subject = learner(tiny())
    rollout = experience(subject)
    subject.learn(rollout, skills(subject.config), 0, 0)
    assert subject.normaliser.count == subject.feature_normaliser.count == STEPS * ROBOTS
    close(subject.normaliser.mean, rollout.raw.flatten(0, 1).mean(0), rtol=1e-4, atol=1e-5)
    close(
        subject.feature_normaliser.mean,
        rollout.features.flatten(0, 1).mean(0),
        rtol=1e-4,
        atol=1e-5,
    )


def test_the_weight_of_regularity_grows_with_the_steps_done() -> None:
    """The weight rises from a share at the start to its full value.

    Before the end of the ramp, another share gives another policy.
    """
    options = {"regular_steps": 1000, "num_skills": 1}
    early = [
        policy_after(tiny(regular_start=start, **options), steps_done=0) for start in (0.1, 0.9)
    ]
    late = [
        policy_after(tiny(regular_start=start, **options), steps_done=1000) for start in (0.1, 0.9)
    ]
    assert differing(early[0], early[1])
    assert not differing(late[0], late[1])


def policy_after(config: PretrainConfig, steps_done: int) -> dict[str, Tensor]:
    """Return the weights of the policy after one iteration."""
    subject = learner(config)
    subject.learn(experience(subject), skills(config), 0, steps_done)
    return subject.policy.state_dict()


def test_learning_makes_rewarded_actions_likelier() -> None:
    """The reward is high for a high first action.

    After some iterations its mean has risen everywhere.
    """
    config = tiny(num_skills=1, lr=1e-2, gamma=0.0, entropy=0.0)
    subject = learner(config)
    for iteration in range(15):
        rollout = experience(subject, seed=iteration)
        rollout.reward[..., 0] = rollout.reward[..., 1] = torch.sigmoid(rollout.action[..., 0])
        subject.learn(rollout, skills(config), iteration, 10**9)
    assert float(rollout.mean[..., 0].mean()) > 0.3
    assert np.abs(rollout.mean[..., 1:].mean().item()) < 0.3


def test_the_learning_rate_follows_the_policys_change_within_bounds() -> None:
    """The rate is divided by 1.5 above twice the target, multiplied below half of it, else kept."""
    subject = learner(tiny(lr=1e-3, target_kl=0.01))
    group = subject.optimiser.param_groups[0]
    for kl, expected in ((0.021, 1e-3 / 1.5), (0.01, 1e-3 / 1.5), (0.0049, 1e-3)):
        subject._adapt_lr(kl)
        assert group["lr"] == pytest.approx(expected)
    for kl, bound in ((1.0, LR_BOUNDS[0]), (0.0, LR_BOUNDS[1])):
        for _ in range(50):
            subject._adapt_lr(kl)
        assert group["lr"] == bound
