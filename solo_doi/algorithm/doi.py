"""Diverse Offline Imitation: the paper's three phases, one after another."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import equations
from .background import Run, at_once, beside
from .cloning import PolicyLearner
from .diagnostics import finite
from .diversity import make_diversity
from .multipliers import Multipliers
from .ratios import in_chunks, minibatch_ratios, normalised, state_values
from .smodice import DualValue, Expert
from .train_config import TrainConfig
from .training_data import Problem


class Doi:
    """Values, diversity and multipliers of Z skills, given the expert's ratios."""

    def __init__(
        self, problem: Problem, expert: Expert, config: TrainConfig, generator: torch.Generator
    ) -> None:
        """Draw all weights from `generator`."""
        self.problem, self.config, self._generator = problem, config, generator
        self.expert = expert
        # Ratios have mean one over the data, weights sum to one.
        self._log_eta_expert = (
            expert.log_w + torch.log(torch.tensor(float(problem.num_rows)))
        ).float()
        self.value = DualValue(problem, config.skills, config, generator)
        self.diversity = make_diversity(problem, config, generator)
        self.multipliers = Multipliers(config, problem.device)
        self.policy = self._make_policy() if config.policy.in_loop else None
        self.outer = 0

    def step(self) -> dict[str, float]:
        """One outer step: phase 1, ratios on a subset of the data, phase 2, phase 3; return what to log."""
        left = hold_left(self.outer, self.config)
        with beside(self._threads) as run:
            loss, policy_losses = self._fit_values(run)
            metrics = finite({"loss/value": loss}, f"outer step {self.outer + 1}")
            rows = self.problem.draw(self.config.subset, self._generator)
            log_w = self.log_weights(rows, run)
            if left == 1:
                metrics |= self.diversity.fit(rows, log_w, run)
        losses = [one.result() for one in policy_losses]
        metrics |= {"loss/policy": losses[-1]} if losses else {}
        phi = equations.kl_estimate(log_w, equations.log_weights(self.expert.log_w[rows]))
        if self.config.alpha is None:
            self.multipliers.step(phi, left)
        self.outer += 1
        per_skill = {
            "phi": phi,
            **self.weighing(),
            "effective_share": equations.effective_samples(log_w) / len(rows),
        }
        metrics["ratio_l1"] = float(equations.ratio_distance(log_w))
        for name, values in per_skill.items():
            metrics |= {f"{name}/{skill}": float(value) for skill, value in enumerate(values)}
        return finite(metrics, f"outer step {self.outer}")

    @torch.no_grad()  # multipliers learn from phi alone
    def reward(self, rows: Tensor) -> Tensor:
        """Reward (Z, B) of transitions: diversity against imitation, weighed by the multipliers."""
        config = self.config
        diversity = self.diversity.term(rows, self.outer)
        if config.alpha is not None:
            return equations.unconstrained_reward(diversity, self.expert.logit[rows], config.alpha)
        imitation = config.imitation_scale * self._log_eta_expert[rows]
        return equations.skill_reward(
            diversity,
            imitation,
            self.multipliers.sigma(),
            config.diversity_weight,
            config.data_pull,
        )

    @torch.no_grad()
    def log_weights(self, rows: Tensor, run: Run = at_once) -> Tensor:
        """Log weights (Z, B) of some transitions, normalised among themselves; rewards are given to `run`."""
        reward = run(partial(self._rewards, rows))
        states = torch.cat([self.problem.here[rows], self.problem.there[rows]])
        here, there = state_values(self.problem.states[states], self.value.network).chunk(2, dim=1)
        delta = equations.td_error(reward.result(), here, there, self.config.gamma)
        return normalised(delta, self.config)

    @torch.no_grad()
    def full_log_weights(self) -> Tensor:
        """Log weights (Z, N) of all transitions."""
        values = state_values(self.problem.states, self.value.network)
        here, there = values[:, self.problem.here], values[:, self.problem.there]
        reward = self._rewards(torch.arange(self.problem.num_rows, device=self.problem.device))
        return normalised(equations.td_error(reward, here, there, self.config.gamma), self.config)

    def _rewards(self, rows: Tensor) -> Tensor:
        """Rewards (Z, B) of many transitions."""
        return in_chunks(
            lambda chunk: self.reward(rows[chunk]), len(rows), self.config.skills, rows.device
        )

    def weighing(self) -> dict[str, Tensor]:
        """Return how every skill (Z,) weighs imitation: sigma, if it plays a part; with exponents above 1 they part."""
        config, sigma = self.config, self.multipliers.sigma()
        if (
            config.alpha is not None
        ):  # the reward without constraint has no multiplier: diversity weighs alpha
            alone = torch.zeros_like(sigma)
            return {
                "exponent": equations.separation_exponent(alone, config.skills, config.alpha, 1.0)
            }
        exponent = equations.separation_exponent(
            sigma, config.skills, config.diversity_weight, config.data_pull
        )
        return {"sigma": sigma, "exponent": exponent}

    def state(self) -> dict[str, Any]:
        """Return all that changes in training."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return {"outer": self.outer, "mu": self.multipliers.mu.detach().clone(), **parts}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.outer = state["outer"]
        with torch.no_grad():
            self.multipliers.mu.copy_(state["mu"])
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _fit_values(self, run: Run) -> tuple[float, list[Future[float]]]:
        """Phase 1: a few steps on every skill's dual problem, and on its policy, with the rest fixed.

        Rewards depend on no value, and nothing depends on policies: on a second core the former are computed ahead,
        and the latter learn when nobody waits for anything else, also while the discriminator is trained.
        """
        loss, policy, policy_losses = 0.0, self.policy, list[Future[float]]()
        batches = [self.value.draw() for _ in range(self.config.value.updates)]
        rewards = [run(partial(self.reward, batch.rows)) for batch in batches]
        for batch, reward in zip(batches, rewards, strict=True):
            loss, delta = self.value.step(batch, reward.result())
            if policy is not None:
                step = partial(
                    policy.weighted_step, batch.rows, minibatch_ratios(delta, self.config)
                )
                policy_losses.append(run(step, patient=True))
        return loss, policy_losses

    def _make_policy(self) -> PolicyLearner:
        """Give it random numbers of its own: it draws them while others are drawn elsewhere."""
        seed = int(torch.randint(2**62, (), generator=self._generator))
        own = torch.Generator().manual_seed(seed)
        return PolicyLearner(self.problem, self.config.skills, self.config.policy, own)

    @property
    def _threads(self) -> int:
        return self.config.torch_threads if self.problem.device.type == "cpu" else 1

    def _parts(self) -> dict[str, Any]:
        parts = {
            "value": self.value.network,
            "value_optimiser": self.value.optimiser,
            "multiplier_optimiser": self.multipliers.optimiser,
            **self.diversity.parts(),
        }
        return parts if self.policy is None else parts | {"policy": self.policy}


def hold_left(outer: int, config: TrainConfig) -> float:
    """What is left of the steps in which the discriminator is held: 1 before them, falling to 0 at the end."""
    held = config.discriminator.hold * config.outer
    return min(1.0, (config.outer - 1 - outer) / held) if held else 1.0
