"""Networks for all skills or members at once against plain ones."""

from __future__ import annotations

from math import sqrt

import pytest
import torch
from torch import nn

from solo_doi.algorithm.numerics.networks import (
    Classifier,
    Ensemble,
    SampleLastLinear,
    SkillNetwork,
    xavier,
)
from tests.algorithm.small import seeded

close = torch.testing.assert_close
INPUTS, HIDDEN, OUTPUTS, SKILLS, MEMBERS = 5, 16, 3, 4, 6


def skill_network(seed: int = 0) -> SkillNetwork:
    """Return a small network with biases that are not zero."""
    network = SkillNetwork(INPUTS, HIDDEN, OUTPUTS, SKILLS, seeded(seed))
    with torch.no_grad():
        network.second_bias.copy_(torch.randn(HIDDEN, generator=seeded(seed + 1)))
        network.head_bias.copy_(torch.randn(OUTPUTS, generator=seeded(seed + 2)))
    return network


def inputs(count: int) -> torch.Tensor:
    """Return inputs of about unit size."""
    return torch.randn(count, INPUTS, generator=seeded(9))


def test_weights_are_within_xaviers_bound_and_fill_it() -> None:
    """The bound is sqrt(6 / (3 + 5)) = 0.866.

    A uniform distribution has 1/sqrt(3) of it as deviation, 0.5.
    """
    weights = xavier((200, 200), 3, 5, seeded())
    assert weights.abs().max() <= sqrt(0.75)
    close(weights.std(), torch.tensor(0.5), rtol=0.01, atol=0)
    close(weights.mean(), torch.tensor(0.0), rtol=0, atol=0.01)


def test_skill_network_is_a_plain_network_with_the_skills_code_beside_the_input() -> None:
    """The first layer of a plain network takes input and one-hot code and has no bias."""
    network, x = skill_network(), inputs(7)
    plain = nn.Sequential(
        nn.Linear(INPUTS + SKILLS, HIDDEN, bias=False), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, OUTPUTS),
    )  # fmt: skip
    names = ("0.weight", "2.weight", "2.bias", "4.weight", "4.bias")
    first = torch.cat([network.first, network.skill.T], dim=1)
    parts = (first, network.second, network.second_bias, network.head, network.head_bias)
    plain.load_state_dict(dict(zip(names, parts, strict=True)))
    found = network(x)
    assert found.shape == (SKILLS, 7, OUTPUTS)
    for skill in range(SKILLS):
        code = nn.functional.one_hot(torch.full((7,), skill), SKILLS)
        close(found[skill], plain(torch.cat([x, code], dim=1)))


def test_one_skill_per_row_equals_all_skills() -> None:
    """The skills of the rows may be in any order."""
    network, x = skill_network(), inputs(8)
    skill = torch.tensor([3, 0, 1, 1, 2, 3, 0, 2])
    close(network.of_skill(x, skill), network(x)[skill, torch.arange(8)])


def test_skills_differ_from_the_beginning() -> None:
    """Skills with equal weights would always get equal gradients."""
    found = skill_network()(inputs(5))
    assert all((found[one] != found[other]).any() for one in range(SKILLS) for other in range(one))


def test_every_weight_of_a_skill_network_learns() -> None:
    """Every parameter has a gradient."""
    network = skill_network()
    network(inputs(20)).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in network.parameters())


def test_ensemble_is_a_loop_over_its_members() -> None:
    """Plain networks with the same weights give the same result; skills come before samples."""
    ensemble, x = Ensemble(INPUTS, HIDDEN, SKILLS, MEMBERS, seeded()), inputs(7)
    with torch.no_grad():
        for number, bias in enumerate(ensemble.biases):
            bias.copy_(torch.randn(bias.shape, generator=seeded(number)))
    found = ensemble(x)
    assert found.shape == (MEMBERS, SKILLS, 7)
    for member in range(MEMBERS):
        hidden = x
        for layer, (weights, biases) in enumerate(
            zip(ensemble.weights, ensemble.biases, strict=True)
        ):
            hidden = hidden @ weights[member] + biases[member, 0]
            hidden = hidden.relu() if layer < 2 else hidden
        close(found[member], torch.log_softmax(hidden, dim=-1).T)


def test_last_layer_and_its_gradients_are_those_of_a_plain_product() -> None:
    """The reference is the plain product, transposed, and finite differences for the gradients."""
    shapes = ((MEMBERS, 7, HIDDEN), (MEMBERS, HIDDEN, SKILLS), (MEMBERS, 1, SKILLS))
    parts = [
        torch.randn(s, generator=seeded(), dtype=torch.float64, requires_grad=True) for s in shapes
    ]
    close(SampleLastLinear.apply(*parts), (parts[0] @ parts[1] + parts[2]).transpose(1, 2))  # type: ignore[no-untyped-call]
    assert torch.autograd.gradcheck(SampleLastLinear.apply, parts)


def test_an_ensembles_probabilities_sum_to_one() -> None:
    """The sum is over skills, for every member and sample."""
    found = Ensemble(INPUTS, HIDDEN, SKILLS, MEMBERS, seeded())(20 * inputs(9))
    close(found.exp().sum(1), torch.ones(MEMBERS, 9))


def test_members_of_an_ensemble_learn_independently() -> None:
    """The loss of one member gives no gradient to the others."""
    ensemble = Ensemble(INPUTS, HIDDEN, SKILLS, MEMBERS, seeded())
    ensemble(inputs(9))[2, 0].sum().backward()
    for weights in ensemble.weights:
        assert weights.grad is not None
        touched = [bool(gradient.any()) for gradient in weights.grad]
        assert touched == [member == 2 for member in range(MEMBERS)]


def test_classifier_by_hand() -> None:
    """All weights one, no biases: tanh of the input's sum, tanh of twice that, twice that."""
    classifier = Classifier(2, 2, seeded())
    with torch.no_grad():
        for layer in classifier.layers:
            if isinstance(layer, nn.Linear):
                layer.weight.fill_(1.0)
    x = torch.tensor([[0.1, 0.2], [-1.0, 0.5]])
    close(classifier(x), 2 * torch.tanh(2 * torch.tanh(x.sum(1))))


def test_all_layers_of_the_classifier_learn() -> None:
    """Layers that were replaced are trained as well."""
    classifier = Classifier(INPUTS, HIDDEN, seeded())
    classifier(inputs(20)).square().sum().backward()
    parameters = dict(classifier.named_parameters())
    assert len(parameters) == 6
    assert all(weight.grad is not None and weight.grad.any() for weight in parameters.values())


@pytest.mark.parametrize("kind", ["skills", "ensemble", "classifier"])
def test_a_seed_makes_all_weights(kind: str) -> None:
    """The same generator gives the same weights; the global generator has no effect."""
    makers = {
        "skills": lambda seed: SkillNetwork(INPUTS, HIDDEN, OUTPUTS, SKILLS, seeded(seed)),
        "ensemble": lambda seed: Ensemble(INPUTS, HIDDEN, SKILLS, MEMBERS, seeded(seed)),
        "classifier": lambda seed: Classifier(INPUTS, HIDDEN, seeded(seed)),
    }
    torch.manual_seed(1)
    one = makers[kind](0).state_dict()
    torch.manual_seed(2)
    same, other = makers[kind](0).state_dict(), makers[kind](1).state_dict()
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not any(torch.equal(one[name], other[name]) for name in one if one[name].any())
