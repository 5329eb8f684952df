"""Training loop: roll out, learn, log, save. A killed run continues to the same weights."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_torch
from solo_doi.common.memory import keep_memory
from solo_doi.policies.dominic_checkpoint import read_policy, write_policy
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.sim import IsaacConfig, SimConfig
from solo_doi.tasks import make_task, task_type

from .experience import Rollout, collect_rollout
from .learner import Learner
from .pretrain_config import PretrainConfig, chosen_features
from .pretrain_files import MODEL_SUFFIX, PretrainFiles


class IterationLog(Protocol):
    """Receiver of each iteration's metrics."""

    def iteration(self, number: int, metrics: dict[str, float]) -> None:
        """Record a finished iteration, counted from 1."""


class Trainer:
    """One run in one directory."""

    def __init__(self, config: PretrainConfig, run: Path, isaac: IsaacConfig | None = None) -> None:
        """Set up simulator, task and networks from the seed."""
        config.check()
        self.config = config
        self.run = run
        # Decaying Adam moments produce denormal numbers, which are tens of times slower on CPUs.
        torch.set_flush_denormal(True)
        torch.set_num_threads(config.torch_threads)
        keep_memory()
        self._generator = torch.Generator().manual_seed(config.seed)
        self._rng = np.random.default_rng(config.seed)
        task = task_type(config.task)
        setup = SimConfig(num_robots=config.num_robots, isaac=isaac)
        simulator = task.make_simulator(config.sim, setup)
        self.task = make_task(config.task, simulator, self._rng, config.episode)
        self.learner = Learner(config, self._generator)
        # Robots keep their skills, so every batch has equal numbers of each.
        self._skill = torch.arange(config.num_robots) % config.num_skills
        self._observation = self.task.observe()
        self._features = chosen_features(config)
        self._rollout = Rollout.empty(config.steps, config.num_robots, task, self._features)
        self.iteration = 0

    @property
    def steps_per_iteration(self) -> int:
        """Control steps of all robots in an iteration."""
        return self.config.steps * self.config.num_robots

    def start_from(self, run: Path) -> None:
        """Start from the weights of another run, or from the policy of a checkpoint file."""
        if run.suffix == MODEL_SUFFIX:
            self.learner.start_from_policy(read_policy(run), run)
            return
        try:
            self.learner.start_from(_read_state(run)["learner"])
        except RuntimeError as error:
            reason = str(error).splitlines()[-1].strip()
            raise SoloError(
                f"{PretrainFiles(run).state}: its weights do not fit this configuration "
                f"({reason}). Start from a run with as many skills and the same hidden sizes."
            ) from error

    def train(self, log: IterationLog) -> None:
        """Run all iterations that are left."""
        config = self.config
        while self.iteration < config.iterations:
            started = time.perf_counter()
            self._set_commands()
            self._observation = collect_rollout(
                self._rollout,
                self._observation,
                self.task,
                self._features,
                self.learner.policy,
                self.learner.normaliser,
                self._skill,
                self._generator,
            )
            done = self.iteration * self.steps_per_iteration
            metrics = self.learner.learn(self._rollout, self._skill, self.iteration, done)
            metrics |= self._skill_metrics() | self.task.progress()
            metrics["steps_per_second"] = self.steps_per_iteration / (time.perf_counter() - started)
            if self.iteration in config.checkpoints:
                self.write_checkpoint(self.iteration, self.iteration + 1)
            self.iteration += 1
            log.iteration(self.iteration, metrics)
            if self.iteration % config.save_every == 0 or self.iteration == config.iterations:
                self.save()
        self.write_checkpoint(config.iterations, config.iterations)

    def policy(self) -> MaskedPolicy:
        """Return a copy of the current policy."""
        network = self.learner.policy.network
        normaliser = self.learner.normaliser
        first, second, head = network.layers
        return MaskedPolicy(
            mean=_array(normaliser.mean),
            std=_array(normaliser.var.sqrt()),
            weights=(_array(first.weight), _array(second.weight), _array(head.weight)),
            biases=(_array(first.bias), _array(second.bias), _array(head.bias)),
            masks=(_array(network.mask0), _array(network.mask1)),
            log_std=_array(self.learner.policy.log_std),
        )

    def write_checkpoint(self, iteration: int, updates: int) -> None:
        """Write the policy after `updates` updates; the official file name counts from 0."""
        path = PretrainFiles(self.run).checkpoint(iteration)
        steps = updates * self.steps_per_iteration
        write_policy(path, self.policy(), iteration=iteration, tot_timesteps=steps)

    def save(self) -> None:
        """Write the state of the run; exact to the bit if the simulator can save its robots."""
        learner = self.learner
        optimisers = (learner.optimiser, learner.successor_optimiser, learner.multipliers.optimiser)
        state = {
            "iteration": self.iteration,
            "learner": learner.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in optimisers],
            "torch_generator": self._generator.get_state(),
            "numpy_generator": _packed(self._rng.bit_generator.state),
        }
        if self.task.simulator.can_save:
            saved = self.task.save()
            state["task"] = {name: torch.from_numpy(value) for name, value in saved.items()}
            state["observation"] = torch.from_numpy(self._observation)
        write_torch(PretrainFiles(self.run).state, state)

    def resume(self) -> None:
        """Continue from the last `save` in this directory; robots not saved start new episodes."""
        state = _read_state(self.run)
        learner = self.learner
        learner.load_state_dict(state["learner"])
        optimisers = (learner.optimiser, learner.successor_optimiser, learner.multipliers.optimiser)
        for optimiser, saved in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self._generator.set_state(state["torch_generator"])
        self._rng.bit_generator.state = _unpacked(state["numpy_generator"])
        if self.task.simulator.can_save:
            self.task.load({name: value.numpy() for name, value in state["task"].items()})
            self._observation = state["observation"].numpy()
        self.iteration = state["iteration"]

    def _set_commands(self) -> None:
        """Follow the curriculum, from commands straight ahead to their full ranges."""
        growth = self.config.command_growth * self.config.iterations
        self.task.difficulty = 1.0
        if growth:
            self.task.difficulty = min(1.0, self.iteration / growth)

    def _skill_metrics(self) -> dict[str, float]:
        multipliers = self.learner.multipliers
        if self.config.num_skills == 1:
            return {"skills/value_0": float(multipliers.value[0])}
        rows = zip(multipliers.value, multipliers.weights(), multipliers.slack(), strict=True)
        metrics: dict[str, float] = {}
        for skill, (value, weight, slack) in enumerate(rows):
            metrics |= {
                f"skills/value_{skill}": float(value),
                f"skills/weight_{skill}": float(weight),
            }
            metrics[f"skills/slack_{skill}"] = float(slack)
        return metrics


def _read_state(run: Path) -> dict[str, Any]:
    path = PretrainFiles(run).state
    if not path.is_file():
        raise SoloError(
            f"{path}: no such file. Expected the directory of a run of solo-pretrain "
            "that saved at least once."
        )
    return torch.load(path, weights_only=True)


def _array(tensor: torch.Tensor) -> np.ndarray:
    return np.array(tensor.detach().numpy())


def _packed(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return PCG64's 128-bit integers as text: torch's safe reader supports only 64 bits."""
    return {**state, "state": {name: str(value) for name, value in state["state"].items()}}


def _unpacked(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "state": {name: int(value) for name, value in state["state"].items()}}
