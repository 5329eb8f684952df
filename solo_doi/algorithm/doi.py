"""Diverse Offline Imitation: the paper's three phases, one after another."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import equations
from .cloning import PolicyLearner
from .clusters import Clusters
from .diagnostics import finite
from .diversity import make_diversity
from .multipliers import SMALLEST_STEP, Divergences, Multipliers
from .numerics.background import Submit, background_worker, call_at_once
from .ratios import in_chunks, minibatch_ratios, normalised
from .smodice import Expert, make_value
from .train_config import TrainConfig
from .training_data import Problem


class Doi:
    """Values, diversity and multipliers of Z skills, given the expert's ratios."""

    def __init__(
        self, problem: Problem, expert: Expert, config: TrainConfig, generator: torch.Generator
    ) -> None:
        """Draw all weights from `generator`."""
        self.problem = problem
        self.config = config
        self.expert = expert
        self._generator = generator
        # Ratios have mean one over the data, weights sum to one.
        self._log_eta_expert = (
            expert.log_w + torch.log(torch.tensor(float(problem.num_rows)))
        ).float()
        self.value = make_value(problem, config.skills, config, generator)
        self.diversity = make_diversity(problem, expert.log_w, config, generator)
        self.multipliers = Multipliers(config, problem.device)
        self.policy = self._make_policy() if config.policy.in_loop else None
        self.outer = 0

    def step(self) -> dict[str, float]:
        """Make one outer step and return its metrics.

        Phase 1 fits values, then ratios are computed on a subset of the data, phase 2 fits the
        discriminator, phase 3 moves the multipliers.
        """
        remaining = hold_remaining(self.outer, self.config)
        with background_worker(self._threads) as submit:
            loss, policy_losses = self._fit_values(submit)
            metrics = finite({"loss/value": loss}, f"outer step {self.outer + 1}")
            rows = self.problem.draw(self.config.subset, self._generator)
            log_w = self.log_weights(rows, submit)
            if remaining == 1:
                metrics |= self.diversity.fit(rows, log_w, submit)
        for policy_loss in policy_losses:
            metrics["loss/policy"] = policy_loss.result()  # keep the last loss
        phi = equations.kl_estimate(log_w, equations.log_weights(self.expert.log_w[rows]))
        if self.config.alpha is None:
            self._move_multipliers(rows, phi, remaining)
        self.outer += 1
        per_skill = {
            "phi": phi,
            **self.imitation_weights(),
            "effective_share": equations.effective_samples(log_w) / len(rows),
        }
        metrics["ratio_l1"] = float(equations.ratio_distance(log_w))
        for name, values in per_skill.items():
            metrics |= {f"{name}/{skill}": float(value) for skill, value in enumerate(values)}
        return finite(metrics, f"outer step {self.outer}")

    def start(self, clusters: Clusters) -> None:
        """Prepare for the first outer step; not called if a run is continued."""
        self.diversity.start(clusters)
        if self.config.alpha is None and self.config.multiplier.method == "solve":
            rows = self.problem.draw(self.config.subset, self._generator)
            self.multipliers.solve(self._divergences(rows), share=1.0)

    @torch.no_grad()  # multipliers learn from phi alone
    def reward(self, rows: Tensor) -> Tensor:
        """Reward (Z, B) of transitions: diversity and imitation, weighted by the multipliers."""
        diversity = self.diversity.term(rows, self.outer)
        if self.config.alpha is not None:
            logit = self.expert.logit[rows]
            return equations.unconstrained_reward(diversity, logit, self.config.alpha)
        return self._reward(diversity, rows, self.multipliers.sigma())

    @torch.no_grad()
    def log_weights(self, rows: Tensor, submit: Submit = call_at_once) -> Tensor:
        """Log weights (Z, B) of some transitions, normalised over them.

        `submit` computes the rewards.
        """
        reward = submit(partial(self._rewards, rows))
        here, there = self.value.around(rows)
        delta = equations.td_error(reward.result(), here, there, self.config.gamma)
        return normalised(delta, self.config)

    @torch.no_grad()
    def full_log_weights(self) -> Tensor:
        """Log weights (Z, N) of all transitions."""
        rows = torch.arange(self.problem.num_rows, device=self.problem.device)
        here, there = self.value.around(rows)
        reward = self._rewards(rows)
        return normalised(equations.td_error(reward, here, there, self.config.gamma), self.config)

    def _reward(self, diversity: Tensor, rows: Tensor, sigma: Tensor) -> Tensor:
        """Reward (Z, B) of transitions with this diversity (Z, B) and these multipliers (Z,)."""
        config = self.config
        imitation = config.imitation_scale * self._log_eta_expert[rows]
        return equations.skill_reward(
            diversity, imitation, sigma, config.diversity_weight, config.data_pull
        )

    def _move_multipliers(self, rows: Tensor, phi: Tensor, remaining: float) -> None:
        """Phase 3: move the multipliers by the divergences phi (Z,) on a subset of the data."""
        options = self.config.multiplier
        if options.method == "gradient":
            self.multipliers.step(phi, remaining)
            return
        share = options.share * max(remaining, SMALLEST_STEP)
        self.multipliers.solve(self._divergences(rows), share)

    @torch.no_grad()
    def _divergences(self, rows: Tensor) -> Divergences:
        """Return phi as a function of sigma, with the present values and diversity."""
        diversity = in_chunks(
            lambda chunk: self.diversity.term(rows[chunk], self.outer),
            len(rows),
            self.config.skills,
            rows.device,
        )
        here, there = self.value.around(rows)
        log_w_expert = equations.log_weights(self.expert.log_w[rows])

        def phi_of(sigma: Tensor) -> Tensor:
            reward = self._reward(diversity, rows, sigma)
            delta = equations.td_error(reward, here, there, self.config.gamma)
            return equations.kl_estimate(normalised(delta, self.config), log_w_expert)

        return phi_of

    def _rewards(self, rows: Tensor) -> Tensor:
        """Rewards (Z, B) of many transitions."""
        return in_chunks(
            lambda chunk: self.reward(rows[chunk]), len(rows), self.config.skills, rows.device
        )

    def imitation_weights(self) -> dict[str, Tensor]:
        """Return sigma and separation exponent of every skill (Z,).

        Skills with an exponent above 1 grow apart. The unconstrained objective has no sigma.
        """
        config = self.config
        sigma = self.multipliers.sigma()
        if config.alpha is not None:
            # Without constraint there is no multiplier; alpha is the weight of diversity.
            zero = torch.zeros_like(sigma)
            exponent = equations.separation_exponent(zero, config.skills, config.alpha, 1.0)
            return {"exponent": exponent}
        exponent = equations.separation_exponent(
            sigma, config.skills, config.diversity_weight, config.data_pull
        )
        return {"sigma": sigma, "exponent": exponent}

    def state(self) -> dict[str, Any]:
        """Return everything that changes in training."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return {"outer": self.outer, "mu": self.multipliers.mu.detach().clone(), **parts}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.outer = state["outer"]
        with torch.no_grad():
            self.multipliers.mu.copy_(state["mu"])
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _fit_values(self, submit: Submit) -> tuple[float, list[Future[float]]]:
        """Phase 1: some updates of the values, and of policies in the loop, with the rest fixed.

        Rewards do not depend on values, so a second core computes them ahead. Nothing depends on
        policies, so they learn when that core is idle, also while the discriminator is trained.
        """
        loss = 0.0
        policy = self.policy
        policy_losses: list[Future[float]] = []
        batches = [self.value.draw() for _ in range(self.config.value.updates)]
        rewards = [submit(partial(self.reward, batch.rows)) for batch in batches]
        for batch, reward in zip(batches, rewards, strict=True):
            loss, delta = self.value.step(batch, reward.result())
            if policy is not None:
                ratios = minibatch_ratios(delta, self.config)
                step = partial(policy.weighted_step, batch.rows, ratios)
                policy_losses.append(submit(step, low_priority=True))
        return loss, policy_losses

    def _make_policy(self) -> PolicyLearner:
        # Its own generator, because it draws numbers while the main thread draws others.
        seed = int(torch.randint(2**62, (), generator=self._generator))
        own = torch.Generator().manual_seed(seed)
        return PolicyLearner(self.problem, self.config.skills, self.config.policy, own)

    @property
    def _threads(self) -> int:
        if self.problem.device.type != "cpu":
            return 1
        return self.config.torch_threads

    def _parts(self) -> dict[str, Any]:
        parts = {
            **self.value.parts(),
            "multiplier_optimiser": self.multipliers.optimiser,
            **self.diversity.parts(),
        }
        if self.policy is not None:
            parts["policy"] = self.policy
        return parts


def hold_remaining(outer: int, config: TrainConfig) -> float:
    """Share that remains of the hold, the last steps with a fixed discriminator: 1 before it."""
    held = config.discriminator.hold * config.outer
    if not held:
        return 1.0
    return min(1.0, (config.outer - 1 - outer) / held)
