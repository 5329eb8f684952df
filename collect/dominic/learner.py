"""Learner of DOMiNiC: update of all weights from one rollout."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.tasks import task_type

from . import equations
from .experience import Rollout
from .mirror_loss import MirrorLoss
from .multipliers import TaskMultipliers
from .networks import GaussianPolicy, Normaliser, SkillMLP
from .pretrain_config import PretrainConfig, chosen_features
from .timed_features import TimedFeatures
from .warm_start import start_from_policy

LR_FACTOR = 1.5
"""Factor by which the learning rate is adapted."""
LR_BOUNDS = (1e-5, 1e-2)
"""Smallest and largest learning rate."""
SETTLING_WEIGHTS = ("settled.", "multipliers.average")
"""Weights that only a run whose skills settle has."""
CONSTANT_VARIANCE = 1e-8
"""Variance below which an input counts as constant."""


@dataclass
class Batch:
    """Samples of an iteration, flattened over steps and robots."""

    observation: Tensor
    skill: Tensor
    action: Tensor
    log_prob: Tensor
    mean: Tensor
    advantage: Tensor  # combined
    returns: Tensor  # (B, groups + 1), the last of the intrinsic reward
    successor: Tensor  # targets

    def __getitem__(self, index: Tensor) -> Batch:
        """Select samples."""
        return Batch(*(value[index] for value in vars(self).values()))


class Learner(nn.Module):
    """Networks, optimisers and multipliers, and one method per step of an iteration."""

    def __init__(self, config: PretrainConfig, generator: torch.Generator) -> None:
        """Draw all weights from `generator`."""
        super().__init__()
        self.config = config
        self._generator = generator
        task = task_type(config.task)
        self._layout = task.layout
        self._reward_groups = task.reward_groups
        self._task_group = task.reward_groups.index("task")
        self._group_weights = task.group_weights
        observations = task.layout.size
        features = len(chosen_features(config).names)
        skills = config.num_skills

        def network(hidden: tuple[int, int], outputs: int) -> SkillMLP:
            return SkillMLP(observations, hidden, outputs, skills, config.mask_keep, generator)

        self.policy = GaussianPolicy(
            network(config.policy_hidden, NUM_JOINTS), NUM_JOINTS, config.action_std
        )
        self.values = network(config.value_hidden, len(task.reward_groups) + 1)
        self.successor = network(config.value_hidden, features)
        self.settled: SkillMLP | None = None
        if config.diversity.settle:
            self.settled = copy.deepcopy(self.successor)
        self.timed: TimedFeatures | None = None
        if config.diversity.signal == "timed":
            self.timed = TimedFeatures(skills, features, config.diversity)
        self._mirror: MirrorLoss | None = None
        if config.mirror:
            self._mirror = MirrorLoss(task.layout, skills, pairs=config.mirrored == "pairs")
        self.normaliser = Normaliser(observations)
        self.feature_normaliser = Normaliser(features)
        self.multipliers = TaskMultipliers(skills, config.diversity)
        self.optimiser = torch.optim.Adam(
            [*self.policy.parameters(), *self.values.parameters()], lr=config.lr, eps=1e-5
        )
        self.successor_optimiser = torch.optim.Adam(
            self.successor.parameters(), lr=config.successor_lr
        )

    @torch.no_grad()
    def start_from(self, weights: dict[str, Tensor]) -> None:
        """Start from another run's weights, and explore at least with the initial deviation.

        An input may have been constant, such as the command of the forward expert. The normaliser
        would then scale any other value by 100, and its weights are untrained. So such inputs get
        mean 0, variance 1 and zero weights.
        """
        own = {name: value for name, value in self.state_dict().items() if name not in weights}
        if all(name.startswith(SETTLING_WEIGHTS) for name in own):
            weights = own | weights
        self.load_state_dict(weights)
        constant = self.normaliser.var < CONSTANT_VARIANCE
        self.normaliser.mean[constant] = 0.0
        self.normaliser.var[constant] = 1.0
        for network in (self.policy.network, self.values, self.successor):
            network.first.weight[:, constant] = 0.0
        self.policy.log_std.clamp_(min=math.log(self.config.action_std))

    @torch.no_grad()
    def start_from_policy(self, policy: MaskedPolicy, where: object) -> None:
        """Start from the policy of a checkpoint, and explore with the initial deviation."""
        start_from_policy(self.policy, self.normaliser, policy, self._layout, where)
        self.policy.log_std.fill_(math.log(self.config.action_std))

    def learn(
        self, rollout: Rollout, skill: Tensor, iteration: int, steps_done: int
    ) -> dict[str, float]:
        """Update all weights from one rollout; return metrics."""
        diverse = self.config.num_skills > 1 and iteration > self.config.diversity.burn_in
        self._settle(iteration)
        batch, metrics = self._prepare(rollout, skill, diverse, steps_done)
        if diverse:
            self.multipliers.update()
        metrics |= self._update(batch)
        self.normaliser.update(rollout.raw.flatten(0, 1))
        self.feature_normaliser.update(rollout.features.flatten(0, 1))
        return metrics

    def _settle(self, iteration: int) -> None:
        """Copy the successor features to `settled` until skills settle, then keep the last copy."""
        if self.settled is None:
            return
        first = round((1 - self.config.diversity.settle) * self.config.iterations)
        if iteration <= first:
            self.settled.load_state_dict(self.successor.state_dict())
        if iteration == first:
            self.multipliers.settle()

    @torch.no_grad()
    def _prepare(
        self, rollout: Rollout, skill: Tensor, diverse: bool, steps_done: int
    ) -> tuple[Batch, dict[str, float]]:
        """Compute advantages and targets of a rollout, and metrics."""
        config = self.config
        steps = len(rollout.raw)
        skills = skill.expand(steps, -1).flatten()
        observation = rollout.observation.flatten(0, 1)
        final = rollout.final.flatten(0, 1)
        intrinsic, successor, distance = self._diversity(rollout, observation, final, skills)
        # Scaled by 1 - gamma, a value is an average of future rewards: in (0, 1] for the task.
        reward = torch.cat([rollout.reward, intrinsic], dim=-1) * (1 - config.gamma)
        shape = reward.shape
        value = self.values(observation, skills).view(shape)
        next_value = self.values(final, skills).view(shape)
        advantage = equations.advantages(
            reward, value, next_value, rollout.fallen, rollout.ended, config.gamma, config.lam
        )
        returns = advantage + value
        self.multipliers.observe(self._constrained_value(rollout, returns), skill)
        combined = self._combine(advantage, skill, diverse, steps_done)
        batch = Batch(
            observation=observation,
            skill=skills,
            action=rollout.action.flatten(0, 1),
            log_prob=rollout.log_prob.flatten(),
            mean=rollout.mean.flatten(0, 1),
            advantage=combined.flatten(),
            returns=returns.flatten(0, 1),
            successor=successor,
        )
        metrics = {}
        for index, name in enumerate((*self._reward_groups, "intrinsic")):
            metrics[f"reward/{name}"] = float(reward[..., index].mean() / (1 - config.gamma))
        metrics["skills/distance"] = distance
        metrics["falls"] = float(rollout.fallen.mean())
        return batch, metrics

    def _constrained_value(self, rollout: Rollout, returns: Tensor) -> Tensor:
        """Return the constrained value of every robot: mean score or task return, (N,)."""
        if self.config.diversity.constraint == "score":
            return rollout.score.mean(0)
        return returns[..., self._task_group].mean(0)

    def _combine(self, advantage: Tensor, skill: Tensor, diverse: bool, steps_done: int) -> Tensor:
        """Return the weighted sum (T, N) of the advantages of all groups."""
        config = self.config
        standardised = equations.standardised(advantage)
        ramp = min(
            1.0,
            config.regular_start + (1 - config.regular_start) * steps_done / config.regular_steps,
        )
        weights = torch.ones(config.num_skills)
        if diverse:
            weights = self.multipliers.weights()
        groups = dict(zip(self._reward_groups, standardised.unbind(-1), strict=False))
        combined = equations.combined_advantage(
            groups.get("regular", torch.zeros(())),
            groups["task"],
            standardised[..., -1],
            weights[skill],
            config.regular_weight * ramp,
        )
        for name, weight in self._group_weights.items():
            combined = combined + weight * groups[name]
        return combined

    def _diversity(
        self, rollout: Rollout, observation: Tensor, final: Tensor, skill: Tensor
    ) -> tuple[Tensor, Tensor, float]:
        """Return intrinsic rewards (T, N, 1), successor targets (T N, F), mean skill distance."""
        options = self.config.diversity
        if self.timed is not None:
            return self._timed_diversity(self.timed, rollout, skill)
        features = self.scaled(rollout.features)
        if self.config.num_skills == 1:
            return torch.zeros(*features.shape[:2], 1), features.flatten(0, 1), 0.0
        target = equations.successor_target(
            features,
            self.successor(final, skill).view_as(features),
            rollout.ended,
            options.successor_gamma,
        ).flatten(0, 1)
        directions = self.settled or self.successor
        successors = directions.for_all_skills(observation)
        difference, distance = equations.nearest_skill(successors, skill)
        strength = equations.van_der_waals(
            distance, options.length, options.attraction, options.attract_power, options.repel_power
        )
        seen = features.flatten(0, 1)
        if options.centred:
            own = successors[torch.arange(len(skill)), skill]
            seen = equations.from_midpoint(seen, own, difference)
        reward = equations.diversity_reward(seen, difference, strength)
        return reward.view(*features.shape[:2], 1), target, float(distance.mean())

    def scaled(self, features: Tensor) -> Tensor:
        """Return centred features, divided by their units or else by their deviations."""
        units = chosen_features(self.config).units
        if units:
            return (features - self.feature_normaliser.mean) / torch.tensor(units)
        return self.feature_normaliser(features)

    def _timed_diversity(
        self, timed: TimedFeatures, rollout: Rollout, skill: Tensor
    ) -> tuple[Tensor, Tensor, float]:
        """Return the same as `_diversity`, from averages by part of the episode."""
        features = rollout.features.flatten(0, 1)
        age = rollout.age.flatten()
        free = rollout.free.flatten()
        timed.observe(features[free], skill[free], age[free])
        if self.config.num_skills == 1:
            return torch.zeros(*rollout.features.shape[:2], 1), features, 0.0
        reward, distance = timed.reward(features, skill, age)
        reward = reward * free
        return reward.view(*rollout.features.shape[:2], 1), features, distance

    def _update(self, batch: Batch) -> dict[str, float]:
        config = self.config
        size = len(batch.skill)
        totals = {"loss/policy": 0.0, "loss/value": 0.0, "loss/successor": 0.0, "kl": 0.0}
        if self._mirror is not None:
            totals["loss/mirror"] = 0.0
        for _ in range(config.epochs):
            for index in torch.randperm(size, generator=self._generator).chunk(config.minibatches):
                for name, value in self._minibatch(batch[index]).items():
                    totals[name] += value / (config.epochs * config.minibatches)
        lr = self.optimiser.param_groups[0]["lr"]
        return totals | {"lr": lr, "action_std": float(self.policy.log_std.exp().mean().detach())}

    def _minibatch(self, batch: Batch) -> dict[str, float]:
        config = self.config
        mean = self.policy(batch.observation, batch.skill)
        log_prob = self.policy.log_prob(mean, batch.action)
        policy_loss = equations.clipped_surrogate(
            log_prob, batch.log_prob, batch.advantage, config.clip
        )
        value_loss = (
            (self.values(batch.observation, batch.skill) - batch.returns).square().sum(-1).mean()
        )
        loss = policy_loss - config.entropy * self.policy.entropy() + value_loss
        further = {}
        if self._mirror is not None:
            mirrored = self._mirror(self.policy, self.normaliser, batch.observation, batch.skill)
            loss = loss + config.mirror * mirrored
            further["loss/mirror"] = float(mirrored.detach())
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), config.max_grad_norm)
        nn.utils.clip_grad_norm_(self.values.parameters(), config.max_grad_norm)
        self.optimiser.step()
        successor_loss = torch.zeros(())
        if config.num_skills > 1 and self.timed is None:
            successor_loss = (
                (self.successor(batch.observation, batch.skill) - batch.successor).square().mean()
            )
            self.successor_optimiser.zero_grad(set_to_none=True)
            successor_loss.backward()
            self.successor_optimiser.step()
        # Without the term of the standard deviation, which changes little.
        with torch.no_grad():
            shift = (mean - batch.mean) * torch.exp(-self.policy.log_std)
            kl = 0.5 * shift.square().sum(-1).mean()
        self._adapt_lr(float(kl))
        return {
            "loss/policy": float(policy_loss.detach()),
            "loss/value": float(value_loss.detach()),
            "loss/successor": float(successor_loss.detach()),
            "kl": float(kl),
            **further,
        }

    def _adapt_lr(self, kl: float) -> None:
        group = self.optimiser.param_groups[0]
        if kl > 2 * self.config.target_kl:
            group["lr"] = max(LR_BOUNDS[0], group["lr"] / LR_FACTOR)
        elif kl < self.config.target_kl / 2:
            group["lr"] = min(LR_BOUNDS[1], group["lr"] * LR_FACTOR)
