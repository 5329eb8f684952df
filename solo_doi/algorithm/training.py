"""Training from data to policies. A run that is killed continues to the same weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from solo_doi.common.errors import SoloError
from solo_doi.common.memory import keep_memory
from solo_doi.data.transitions import Transitions
from solo_doi.policies.skill_policy import SkillPolicy

from . import equations
from .cloning import clone
from .clusters import Clusters, describe_behaviour, find_clusters, partition
from .diagnostics import Diagnostics
from .discriminator import Discriminator
from .doi import Doi
from .numerics.device import pick_device
from .numerics.networks import SkillNetwork
from .ratios import describe, rejected_share
from .smodice import Expert, recover_expert, updates
from .train_config import TrainConfig, evenly_spaced_steps, full_steps
from .training_data import Problem
from .training_output import STATE_VERSION, RunWriter, SavedState, TrainingLog

FULL_PASS_METRICS = ("phi_mean", "ratio_l1_trajectory")
"""Statistics of a full pass that are logged."""


class Training:
    """All steps from data to policies, in the paper's order."""

    def __init__(
        self, config: TrainConfig, data: Transitions, expert: Transitions, writer: RunWriter
    ) -> None:
        """Prepare tensors; no random number is drawn before `train`."""
        # Denormal numbers, which tiny weights produce, make values several times slower on CPUs.
        torch.set_flush_denormal(True)
        torch.set_num_threads(config.torch_threads)
        keep_memory()
        self.config = config
        self._writer = writer
        self.generator = torch.Generator().manual_seed(config.seed)
        self.problem = Problem.build(data, expert, config, pick_device(config.device))
        self._last_full_log_w: Tensor | None = None

    def train(self, log: TrainingLog) -> None:
        """Do everything that is not done yet."""
        diagnostics = Diagnostics(self.config)
        if self.config.objective == "smodice":
            expert = self._recover_expert(log)
            self._show_first_warnings(expert, diagnostics, log)
            self._finish_expert(expert, diagnostics, log)
            return
        if self.config.objective == "clusters":
            self._finish_clusters(self._recover_expert(log), diagnostics, log)
            return
        doi = self._resumed(diagnostics)
        if doi is None:
            doi = Doi(self.problem, self._recover_expert(log), self.config, self.generator)
            doi.start(self._clusters(doi.expert))
        self._show_first_warnings(doi.expert, diagnostics, log)
        log.stage("skills", self.config.outer - doi.outer)
        while doi.outer < self.config.outer:
            metrics = doi.step() | self._full_pass(doi)
            log.outer(doi.outer, metrics)
            for text in diagnostics.observe(metrics):
                log.warn(text)
            self._save(doi, diagnostics)
        self._finish(doi, diagnostics, log)

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
        """Return some skills of a policy network as numpy arrays, without log deviations."""
        actions = self.problem.actions.shape[1]
        arrays = {name: value.detach().cpu().numpy() for name, value in network.named_parameters()}
        state_scale = self.problem.state_scale
        action_scale = self.problem.action_scale
        return SkillPolicy(
            state_mean=state_scale.mean,
            state_std=state_scale.std,
            first=arrays["first"],
            skill=arrays["skill"][skills],
            second=arrays["second"],
            second_bias=arrays["second_bias"],
            head=arrays["head"][:actions],
            head_bias=arrays["head_bias"][:actions],
            action_mean=action_scale.mean,
            action_std=action_scale.std,
            squashed=self.config.policy.squashed,
            input_clip=self.config.policy.input_clip,
        )

    def _recover_expert(self, log: TrainingLog) -> Expert:
        log.stage("expert", updates(self.config))
        expert = recover_expert(self.problem, self.config, self.generator, log.advance)
        self._writer.write_expert({"logit": expert.logit, "log_w": expert.log_w})
        return expert

    def _clusters(self, expert: Expert) -> Clusters:
        """Return one cluster of trajectories per skill, the same in every part of a run."""
        return find_clusters(describe_behaviour(self.problem, expert.log_w), self.config)

    def _full_pass(self, doi: Doi) -> dict[str, float]:
        """Return statistics over all of the data, in outer steps with a full pass."""
        if doi.outer not in full_steps(self.config):
            return {}
        log_w = doi.full_log_weights()
        found = describe(log_w, doi.expert.log_w, self.problem)
        if doi.outer == self.config.outer:
            self._last_full_log_w = log_w  # `_finish` needs the same ratios
        return {f"full/{name}": cast("float", found[name]) for name in FULL_PASS_METRICS}

    def _show_first_warnings(
        self, expert: Expert, diagnostics: Diagnostics, log: TrainingLog
    ) -> None:
        """Show warnings known before the first outer step, or made before the run was continued."""
        samples = float(equations.effective_samples(expert.log_w))
        diagnostics.observe_expert(samples, self.problem.num_rows)
        diagnostics.observe_rejected(rejected_share(expert.log_w, self.problem))
        for text in diagnostics.warnings:
            log.warn(text)

    def _finish(self, doi: Doi, diagnostics: Diagnostics, log: TrainingLog) -> None:
        """Write ratios over all of the data, policies and summary."""
        log_w = self._last_full_log_w
        if log_w is None:
            log_w = doi.full_log_weights()
        log_w_expert = doi.expert.log_w
        self._writer.write_ratios(log_w_expert, log_w)
        summary: dict[str, Any] = describe(log_w, log_w_expert, self.problem)
        summary |= self._clusters(doi.expert).summary()
        for text in diagnostics.observe_full(summary["effective_share"], self.problem.num_rows):
            log.warn(text)
        for name, values in doi.imitation_weights().items():
            summary[name] = values.tolist()
            summary[f"{name}_mean"] = float(values.mean())
        if isinstance(doi.diversity, Discriminator):
            summary["held_out_accuracy"] = doi.diversity.held_out_accuracy(log_w)
        if doi.policy is None:
            # One network for the expert and all skills: shared layers learn from all of the data.
            network = self._clone(torch.cat([log_w_expert[None], log_w]), log)
            skills = self.policy(network, slice(1, None))
        else:
            network = self._clone(log_w_expert[None], log)
            skills = self.policy(doi.policy.network, slice(None))
        self._writer.write_policies(self.policy(network, slice(0, 1)), skills)
        self._write_summary(summary, diagnostics)

    def _finish_expert(self, expert: Expert, diagnostics: Diagnostics, log: TrainingLog) -> None:
        """Write the results of SMODICE alone; its policy is the only skill."""
        log_w = expert.log_w[None]
        self._writer.write_ratios(expert.log_w, log_w)
        policy = self.policy(self._clone(log_w, log), slice(None))
        self._writer.write_policies(policy, policy)
        self._write_summary(describe(log_w, expert.log_w, self.problem), diagnostics)

    def _finish_clusters(self, expert: Expert, diagnostics: Diagnostics, log: TrainingLog) -> None:
        """Write the baseline: the expert's weights, split by clusters of trajectories."""
        self._show_first_warnings(expert, diagnostics, log)
        clusters = partition(describe_behaviour(self.problem, expert.log_w), self.config)
        log_w = clusters.log_weights(self.problem, expert.log_w)
        self._writer.write_ratios(expert.log_w, log_w)
        summary: dict[str, Any] = describe(log_w, expert.log_w, self.problem)
        summary |= clusters.summary()
        for text in diagnostics.observe_full(summary["effective_share"], self.problem.num_rows):
            log.warn(text)
        network = self._clone(torch.cat([expert.log_w[None], log_w]), log)
        skills = self.policy(network, slice(1, None))
        self._writer.write_policies(self.policy(network, slice(0, 1)), skills)
        self._write_summary(summary, diagnostics)

    def _clone(self, log_w: Tensor, log: TrainingLog) -> SkillNetwork:
        """Clone policies after the loop: all, or only the expert's if skills learn in the loop."""
        options = self.config.policy
        if options.in_loop and len(log_w) == 1:
            options = replace(options, updates=options.expert_updates)
        log.stage("policies", options.updates)
        return clone(self.problem, log_w, options, self.generator, log.advance)

    def _write_summary(self, summary: dict[str, Any], diagnostics: Diagnostics) -> None:
        content = {
            "eps": self.config.eps,
            "skills": len(summary["phi"]),
            "seed": self.config.seed,
            **summary,
            "warnings": diagnostics.warnings,
        }
        self._writer.write_summary(content)

    def _save(self, doi: Doi, diagnostics: Diagnostics) -> None:
        """Save the state to continue from, and checkpoints for evaluation, where they are due."""
        config = self.config
        content = {
            "version": STATE_VERSION,
            "doi": doi.state(),
            "generator": self.generator.get_state(),
            "health": diagnostics.state(),
        }
        state = SavedState(content)
        if doi.outer % config.save_every == 0 or doi.outer == config.outer:
            self._writer.write_state(state)
        if doi.outer in evenly_spaced_steps(config.outer, config.checkpoints):
            self._writer.write_checkpoint(doi.outer, state)

    def _resumed(self, diagnostics: Diagnostics) -> Doi | None:
        """Return training as it was saved; None if nothing was saved."""
        state = self._writer.read_state()
        if state is None:
            return None
        state.check_version()
        diagnostics.load(state.content["health"])
        return self.load(state)
