"""Training from data to policies. A run that is killed continues to the same weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from solo_doi.common.errors import SoloError
from solo_doi.data.transitions import Transitions
from solo_doi.policies.skill_policy import SkillPolicy

from . import equations
from .allocator import keep_memory
from .cloning import clone
from .diagnostics import Health
from .diversity import Discriminator
from .doi import Doi
from .networks import SkillNetwork
from .ratios import describe
from .run_writer import STATE_VERSION, RunWriter, SavedState
from .smodice import Expert, recover_expert, updates
from .train_config import TrainConfig
from .training_data import Problem

FULL = ("phi_mean", "ratio_l1_trajectory")
"""What is logged of a full pass."""


class TrainingLog(Protocol):
    """Who is told how training goes."""

    def stage(self, name: str, steps: int) -> None:
        """A stage with this many steps begins."""

    def advance(self, losses: dict[str, float]) -> None:
        """One update of the stage is done."""

    def outer(self, number: int, metrics: dict[str, float]) -> None:
        """Outer step `number`, counted from 1, is done."""

    def warn(self, text: str) -> None:
        """Something the user should know."""


class Training:
    """Everything from data to policies, in the paper's order."""

    def __init__(
        self, config: TrainConfig, data: Transitions, expert: Transitions, writer: RunWriter
    ) -> None:
        """Prepare tensors; nothing random happens before `train`."""
        # Denormal numbers, which tiny weights produce, make values several times slower on CPUs.
        torch.set_flush_denormal(True)
        torch.set_num_threads(config.torch_threads)
        keep_memory()
        self.config = config
        self._writer = writer
        self.generator = torch.Generator().manual_seed(config.seed)
        self._full_log_w: Tensor | None = None
        self.problem = Problem.build(data, expert, config, pick_device(config.device))

    def train(self, log: TrainingLog) -> None:
        """Run all that is not done yet."""
        health = Health(self.config)
        if self.config.objective == "smodice":
            expert = self._recover_expert(log)
            self._warn_at_first(expert, health, log)
            self._finish_expert(expert, health, log)
            return
        doi = self._resumed(health) or Doi(
            self.problem, self._recover_expert(log), self.config, self.generator
        )
        self._warn_at_first(doi.expert, health, log)
        log.stage("skills", self.config.outer - doi.outer)
        while doi.outer < self.config.outer:
            metrics = doi.step() | self._full_figures(doi)
            log.outer(doi.outer, metrics)
            for text in health.observe(metrics):
                log.warn(text)
            self._keep(doi, health)
        self._finish(doi, health, log)

    def steps_done(self) -> int:
        """Return the number of outer steps in the saved state; 0 without one."""
        state = self._writer.read_state()
        if state is None:
            return 0
        state.check_version()
        return int(state.content["doi"]["outer"])

    def load(self, state: SavedState) -> Doi:
        """Return training as it was when `state` was saved, random numbers included."""
        state.check_version()
        found = self._writer.read_expert()
        expert = Expert(**{name: value.to(self.problem.device) for name, value in found.items()})
        if len(expert.log_w) != self.problem.num_rows:
            raise SoloError(
                f"{state.source}: made from {len(expert.log_w)} transitions, the data have "
                f"{self.problem.num_rows}. Continue with the data the run began with."
            )
        doi = Doi(self.problem, expert, self.config, self.generator)
        doi.load(state.content["doi"])
        self.generator.set_state(state.content["generator"].cpu())
        return doi

    def policy(self, network: SkillNetwork, skills: slice) -> SkillPolicy:
        """Return some skills of a cloned network, detached from training; their spread is left behind."""
        actions = self.problem.actions.shape[1]
        arrays = {name: value.detach().cpu().numpy() for name, value in network.named_parameters()}
        state, action = self.problem.state_scale, self.problem.action_scale
        return SkillPolicy(
            state_mean=state.mean, state_std=state.std,
            first=arrays["first"], skill=arrays["skill"][skills],
            second=arrays["second"], second_bias=arrays["second_bias"],
            head=arrays["head"][:actions], head_bias=arrays["head_bias"][:actions],
            action_mean=action.mean, action_std=action.std,
            squashed=self.config.policy.squashed,
        )  # fmt: skip

    def _recover_expert(self, log: TrainingLog) -> Expert:
        log.stage("expert", updates(self.config))
        expert = recover_expert(self.problem, self.config, self.generator, log.advance)
        self._writer.write_expert({"logit": expert.logit, "log_w": expert.log_w})
        return expert

    def _full_figures(self, doi: Doi) -> dict[str, float]:
        """Some of what the summary will say, where a full pass is due; the last one's ratios are those of the end."""
        if doi.outer not in full_steps(self.config):
            return {}
        log_w = doi.full_log_weights()
        found = describe(log_w, doi.expert.log_w, self.problem)
        self._full_log_w = log_w if doi.outer == self.config.outer else None
        return {f"full/{name}": cast("float", found[name]) for name in FULL}

    def _warn_at_first(self, expert: Expert, health: Health, log: TrainingLog) -> None:
        """Tell what is known before any outer step, or was told before this run was continued."""
        health.observe_expert(
            float(equations.effective_samples(expert.log_w)), self.problem.num_rows
        )
        for text in health.warnings:
            log.warn(text)

    def _finish(self, doi: Doi, health: Health, log: TrainingLog) -> None:
        """Ratios over all of the data, what they say, and policies."""
        log_w = doi.full_log_weights() if self._full_log_w is None else self._full_log_w
        expert = doi.expert.log_w
        self._writer.write_ratios(expert, log_w)
        summary: dict[str, Any] = describe(log_w, expert, self.problem)
        for text in health.observe_full(summary["effective_share"], self.problem.num_rows):
            log.warn(text)
        for name, values in doi.imitation_weights().items():
            summary |= {name: values.tolist(), f"{name}_mean": float(values.mean())}
        if isinstance(doi.diversity, Discriminator):
            summary["held_out_accuracy"] = doi.diversity.held_out_accuracy(log_w)
        # One network for the expert and all skills, if those have none yet: shared layers learn from all of the data.
        network = self._clone(
            torch.cat([expert[None], log_w]) if doi.policy is None else expert[None], log
        )
        skills = (
            (network, slice(1, None)) if doi.policy is None else (doi.policy.network, slice(None))
        )
        self._writer.write_policies(self.policy(network, slice(0, 1)), self.policy(*skills))
        self._write_summary(summary | {"warnings": health.warnings})

    def _finish_expert(self, expert: Expert, health: Health, log: TrainingLog) -> None:
        """SMODICE alone: its policy is the only skill."""
        log_w = expert.log_w[None]
        self._writer.write_ratios(expert.log_w, log_w)
        network = self._clone(log_w, log)
        policy = self.policy(network, slice(None))
        self._writer.write_policies(policy, policy)
        self._write_summary(
            describe(log_w, expert.log_w, self.problem) | {"warnings": health.warnings}
        )

    def _clone(self, log_w: Tensor, log: TrainingLog) -> SkillNetwork:
        """Fit the policies that are cloned at the end: all, or, if skills are trained in the loop, the expert's."""
        options = self.config.policy
        if options.in_loop:
            options = replace(options, updates=options.expert_updates)
        log.stage("policies", options.updates)
        return clone(self.problem, log_w, options, self.generator, log.advance)

    def _write_summary(self, summary: dict[str, Any]) -> None:
        content = {
            "eps": self.config.eps,
            "skills": len(summary["phi"]),
            "seed": self.config.seed,
            **summary,
        }
        self._writer.write_summary(content)

    def _keep(self, doi: Doi, health: Health) -> None:
        """Save to continue from, and now and then to look at later."""
        config = self.config
        content = {
            "version": STATE_VERSION, "doi": doi.state(), "generator": self.generator.get_state(),
            "health": health.state(),
        }  # fmt: skip
        state = SavedState(content)
        last = doi.outer == config.outer
        if doi.outer % config.save_every == 0 or last:
            self._writer.write_state(state)
        if doi.outer in kept_steps(config.outer, config.checkpoints):
            self._writer.write_checkpoint(doi.outer, state)

    def _resumed(self, health: Health) -> Doi | None:
        state = self._writer.read_state()
        if state is None:
            return None
        state.check_version()
        health.load(state.content["health"])
        return self.load(state)


def kept_steps(outer: int, count: int) -> set[int]:
    """Outer steps after which a checkpoint is kept: `count` of them, evenly spaced, the last among them."""
    return {max(1, round(outer * (number + 1) / count)) for number in range(count)}


def full_steps(config: TrainConfig) -> set[int]:
    """Outer steps with a full pass over the data: of those with a checkpoint, some, the last among them."""
    kept = sorted(kept_steps(config.outer, config.checkpoints))
    return (
        {kept[number - 1] for number in kept_steps(len(kept), config.full_passes)}
        if kept
        else set()
    )


def pick_device(name: str) -> torch.device:
    """Return the device that the configuration names."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise SoloError(f"device {name!r}: expected cpu, cuda or auto.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SoloError("device cuda: PyTorch finds no CUDA device here. Use --device cpu.")
    return device
