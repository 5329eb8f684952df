"""Networks, batched over skills or ensemble members: what differs between skills is one bias of the first layer."""

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
    """Two hidden layers of an input with the skill's one-hot code beside it, for all skills at once.

    The product of the first layer with the input is the same for all skills and computed once; the one-hot
    code adds a row of `skill`.
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
        # As one matrix: of a batch of them, the product would be a view, which autograd copies when it is changed.
        return self._upper(hidden.flatten(0, 1)).unflatten(0, hidden.shape[:2])

    def of_skill(self, x: Tensor, skill: Tensor) -> Tensor:
        """Outputs (B, outputs) of inputs (B, inputs), each under its own skill (B,)."""
        return self._upper(functional.relu(x @ self.first.T + self.skill[skill], inplace=True))

    def _upper(self, hidden: Tensor) -> Tensor:
        hidden = functional.relu(
            functional.linear(hidden, self.second, self.second_bias), inplace=True
        )
        return functional.linear(hidden, self.head, self.head_bias)


class Classifier(nn.Module):
    """c(s): two hidden layers of tanh, whose logit is log(d_E / d_O)."""

    def __init__(self, inputs: int, hidden: int, generator: torch.Generator) -> None:
        """Draw all weights from `generator`; all layers are trained."""
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
                layer.weight = xavier(
                    tuple(layer.weight.shape), layer.in_features, layer.out_features, generator
                )
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
        sizes = ((inputs, hidden), (hidden, hidden), (hidden, skills))
        self.weights = nn.ParameterList(xavier((members, a, b), a, b, generator) for a, b in sizes)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(members, 1, b)) for _, b in sizes)

    def forward(self, x: Tensor) -> Tensor:
        """Log probabilities (K, Z, B) of inputs (B, inputs)."""
        return Members([*self.weights], [*self.biases])(x)

    def split(self, parts: int) -> list[Members]:
        """Shares of about as many members each, in the same memory, to be trained one by one."""
        bounds = [len(self.weights[0]) * part // parts for part in range(parts + 1)]
        shares = [slice(*pair) for pair in pairwise(bounds)]
        return [
            Members(
                [_share(one, share) for one in self.weights],
                [_share(one, share) for one in self.biases],
            )
            for share in shares
        ]


@dataclass(frozen=True)
class Members:
    """Some members of an ensemble."""

    weights: list[Tensor]
    biases: list[Tensor]

    @property
    def parameters(self) -> list[Tensor]:
        """All that is trained."""
        return [*self.weights, *self.biases]

    def __call__(self, x: Tensor) -> Tensor:
        """Log probabilities (K, Z, B) of inputs (B, inputs)."""
        hidden = x.expand(len(self.weights[0]), *x.shape)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = functional.relu(torch.baddbmm(bias, hidden, weight), inplace=True)
        logits: Tensor = SampleLastLinear.apply(hidden, self.weights[-1], self.biases[-1])  # type: ignore[no-untyped-call]
        return torch.log_softmax(logits, dim=1)


def _share(whole: Tensor, members: slice) -> Tensor:
    # Not `detach`: shares that learn side by side must not count each other's changes as changes of their own.
    return whole.data[members].requires_grad_()


class SampleLastLinear(torch.autograd.Function):
    """Batched `x @ weight + bias` with few outputs, as (K, outputs, B): rows of B samples, not of a few outputs.

    Products whose rows are that short are several times slower, forward and for the gradient of the weights; written
    as a plain product the other way round, the gradient of `x` would come transposed, and slow all that follows.
    """

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # noqa: ANN401  # torch's
        """Product of x (K, B, inputs), weight (K, inputs, outputs) and bias (K, 1, outputs), transposed."""
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
