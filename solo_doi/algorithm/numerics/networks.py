"""Networks, batched over skills or ensemble members.

Skills share all weights but one bias of the first layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def xavier(
    shape: tuple[int, ...], fan_in: int, fan_out: int, generator: torch.Generator
) -> nn.Parameter:
    """Return Xavier-uniform weights drawn from `generator`."""
    bound = math.sqrt(6 / (fan_in + fan_out))
    return nn.Parameter((2 * torch.rand(shape, generator=generator) - 1) * bound)


class SkillNetwork(nn.Module):
    """Network with two hidden layers; its input is extended by the one-hot code of the skill.

    The product of the first layer with the input is the same for all skills and computed once. The
    one-hot code adds a row of `skill`.
    """

    def __init__(
        self, inputs: int, hidden: int, outputs: int, skills: int, generator: torch.Generator
    ) -> None:
        """Draw all weights from `generator`."""
        super().__init__()
        fan_in = inputs + skills
        self.first = xavier((hidden, inputs), fan_in, hidden, generator)
        self.skill = xavier((skills, hidden), fan_in, hidden, generator)
        self.second = xavier((hidden, hidden), hidden, hidden, generator)
        self.head = xavier((outputs, hidden), hidden, outputs, generator)
        self.second_bias = nn.Parameter(torch.zeros(hidden))
        self.head_bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (Z, B, outputs) of inputs (B, inputs) under every skill."""
        hidden = functional.relu((x @ self.first.T)[None] + self.skill[:, None], inplace=True)
        # One matrix instead of a batch: the product of a batch is a view, which autograd copies
        # for the in-place ReLU.
        return self._upper(hidden.flatten(0, 1)).unflatten(0, hidden.shape[:2])

    def of_skill(self, x: Tensor, skill: Tensor) -> Tensor:
        """Outputs (B, outputs) of inputs (B, inputs), each under its own skill (B,)."""
        return self._upper(functional.relu(x @ self.first.T + self.skill[skill], inplace=True))

    def _upper(self, hidden: Tensor) -> Tensor:
        product = functional.linear(hidden, self.second, self.second_bias)
        hidden = functional.relu(product, inplace=True)
        return functional.linear(hidden, self.head, self.head_bias)


class Classifier(nn.Module):
    """c(s): two hidden tanh layers; the optimal logit is log(d_E / d_O)."""

    def __init__(self, inputs: int, hidden: int, generator: torch.Generator) -> None:
        """Draw all weights from `generator`."""
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                shape = tuple(layer.weight.shape)
                layer.weight = xavier(shape, layer.in_features, layer.out_features, generator)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B,)."""
        return self.layers(x)[..., 0]


class Ensemble(nn.Module):
    """K skill discriminators q_k(z | x), multiplied as one batch of matrices."""

    def __init__(
        self, inputs: int, hidden: int, skills: int, members: int, generator: torch.Generator
    ) -> None:
        """Draw all weights from `generator`."""
        super().__init__()
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for fan_in, fan_out in ((inputs, hidden), (hidden, hidden), (hidden, skills)):
            self.weights.append(xavier((members, fan_in, fan_out), fan_in, fan_out, generator))
            self.biases.append(nn.Parameter(torch.zeros(members, 1, fan_out)))

    def forward(self, x: Tensor) -> Tensor:
        """Log probabilities (K, Z, B) of inputs (B, inputs)."""
        return Members([*self.weights], [*self.biases])(x)

    def split(self, parts: int) -> list[Members]:
        """Split the members into shares of similar size, trained separately, in the same memory."""
        members = len(self.weights[0])
        bounds = [members * part // parts for part in range(parts + 1)]
        shares = []
        for first, last in pairwise(bounds):
            weights = [_share(weight, slice(first, last)) for weight in self.weights]
            biases = [_share(bias, slice(first, last)) for bias in self.biases]
            shares.append(Members(weights, biases))
        return shares


@dataclass(frozen=True)
class Members:
    """Some members of an ensemble."""

    weights: list[Tensor]
    """Weights (K, inputs, outputs) of every layer."""
    biases: list[Tensor]
    """Biases (K, 1, outputs) of every layer."""

    @property
    def parameters(self) -> list[Tensor]:
        """All trained tensors."""
        return [*self.weights, *self.biases]

    def __call__(self, x: Tensor) -> Tensor:
        """Log probabilities (K, Z, B) of inputs (B, inputs)."""
        hidden = x.expand(len(self.weights[0]), *x.shape)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = functional.relu(torch.baddbmm(bias, hidden, weight), inplace=True)
        apply = SampleLastLinear.apply
        logits: Tensor = apply(hidden, self.weights[-1], self.biases[-1])  # type: ignore[no-untyped-call]
        return torch.log_softmax(logits, dim=1)


def _share(whole: Tensor, members: slice) -> Tensor:
    # `data` instead of `detach`: autograd would count changes by other shares as changes of this
    # one, and refuse the backward pass.
    return whole.data[members].requires_grad_()


class SampleLastLinear(torch.autograd.Function):
    """Batched `x @ weight + bias` for few outputs, returned as (K, outputs, B).

    Rows of B samples make forward pass and weight gradients several times faster than rows of a few
    outputs. A plain transposed product would also transpose the gradient of `x`, which slows the
    layers below.
    """

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # noqa: ANN401  # torch's
        """Transposed product of x (K, B, in) and weight (K, in, out), plus bias (K, 1, out)."""
        context.save_for_backward(x, weight)
        return torch.baddbmm(bias.transpose(1, 2), weight.transpose(1, 2), x.transpose(1, 2))

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: ANN401  # torch's
        """Gradients of all three."""
        x, weight = context.saved_tensors
        return (
            torch.bmm(gradient.transpose(1, 2), weight.transpose(1, 2)),
            torch.bmm(gradient, x).transpose(1, 2),
            gradient.sum(2)[:, None],
        )
