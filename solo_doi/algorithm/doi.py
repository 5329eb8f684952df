"""Diverse Offline Imitation: the paper's three phases, one after another."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import equations
from .beside import beside
from .config import TrainConfig
from .diversity import make_diversity
from .health import finite
from .multipliers import Multipliers
from .policy import PolicyLearner
from .problem import Problem
from .ratios import in_chunks, normalised, state_values
from .smodice import DualValue, Expert


class Doi:
    """Values, diversity and multipliers of Z skills, given the expert's ratios."""

    def __init__(self, problem: Problem, expert: Expert, config: TrainConfig, generator: torch.Generator) -> None:
        """Draw all weights from `generator`."""
        self.problem, self.config, self._generator = problem, config, generator
        self.expert = expert
        # Ratios have mean one over the data, weights sum to one.
        self._log_eta_expert = (expert.log_w + torch.log(torch.tensor(float(problem.num_rows)))).float()
        self.value = DualValue(problem, config.skills, config, generator)
        self.diversity = make_diversity(problem, config, generator)
        self.multipliers = Multipliers(config, problem.device)
        self.policy = PolicyLearner(problem, config.skills, config.policy, generator) if config.policy.in_loop else None
        self.outer = 0

    def step(self) -> dict[str, float]:
        """One outer step: phase 1, ratios on a subset of the data, phase 2, phase 3; return what to log."""
        metrics = finite(self._fit_values(), self.outer + 1)
        rows = self.problem.draw(self.config.subset, self._generator)
        log_w = self.log_weights(rows)
        left = hold_left(self.outer, self.config)
        if left == 1:
            metrics |= self.diversity.fit(rows, log_w)
        phi = equations.kl_estimate(log_w, equations.log_weights(self.expert.log_w[rows]))
        self.multipliers.step(phi, left)
        self.outer += 1
        per_skill = {
            "phi": phi,
            "sigma": self.multipliers.sigma(),
            "exponent": self.exponent(),
            "effective_share": equations.effective_samples(log_w) / len(rows),
        }
        metrics["ratio_l1"] = float(equations.ratio_distance(log_w))
        for name, values in per_skill.items():
            metrics |= {f"{name}/{skill}": float(value) for skill, value in enumerate(values)}
        return finite(metrics, self.outer)

    def reward(self, rows: Tensor) -> Tensor:
        """Reward (Z, B) of transitions: diversity against imitation, weighed by the multipliers."""
        config = self.config
        diversity = self.diversity.term(rows, self.outer)
        if config.alpha is not None:
            return equations.unconstrained_reward(diversity, self.expert.logit[rows], config.alpha)
        imitation = config.imitation_scale * self._log_eta_expert[rows]
        return equations.skill_reward(
            diversity, imitation, self.multipliers.sigma(), config.diversity_weight, config.data_pull
        )

    @torch.no_grad()
    def log_weights(self, rows: Tensor) -> Tensor:
        """Log weights (Z, B) of some transitions, normalised among themselves."""
        states = torch.cat([self.problem.here[rows], self.problem.there[rows]])
        here, there = self.value.network(self.problem.states[states])[..., 0].chunk(2, dim=1)
        delta = equations.td_error(self.reward(rows), here, there, self.config.gamma)
        return normalised(delta, self.config)

    @torch.no_grad()
    def full_log_weights(self) -> Tensor:
        """Log weights (Z, N) of all transitions."""
        values = state_values(self.problem, self.value.network)
        here, there = values[:, self.problem.here], values[:, self.problem.there]
        rows = torch.arange(self.problem.num_rows, device=self.problem.device)
        reward = in_chunks(lambda chunk: self.reward(rows[chunk]), len(rows), self.config.skills, rows.device)
        return normalised(equations.td_error(reward, here, there, self.config.gamma), self.config)

    def exponent(self) -> Tensor:
        """Above one, skills can grow apart, (Z,)."""
        config = self.config
        return equations.separation_exponent(
            self.multipliers.sigma(), config.skills, config.diversity_weight, config.data_pull
        )

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

    def _fit_values(self) -> dict[str, float]:
        """Phase 1: a few steps on every skill's dual problem, and on its policy, with the rest fixed."""
        loss, policy, policy_losses = 0.0, self.policy, list[float]()
        with beside(self._threads_of_values(), policy_losses) as run:
            for _ in range(self.config.value.updates):
                loss, rows, delta = self.value.step(self.reward)
                if policy is not None:
                    eta = equations.log_ratios(delta).exp()
                    run(partial(policy.weighted_step, rows, eta, policy.draw_noise(len(rows))))
        return {"loss/value": loss} | ({"loss/policy": policy_losses[-1]} if policy_losses else {})

    def _threads_of_values(self) -> int:
        """Policies are trained beside the values, where there is a policy and a second core for it."""
        return self.config.torch_threads if self.policy is not None and self.problem.device.type == "cpu" else 1

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
