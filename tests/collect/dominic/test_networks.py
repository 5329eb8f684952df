"""Networks of the trainer: masks, distributions, normaliser, seeds."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from collect.dominic.networks import NORMALISER_FLOOR, GaussianPolicy, Normaliser, SkillMLP

close = torch.testing.assert_close
INPUTS, OUTPUTS, HIDDEN = 5, 3, (16, 8)


def network(
    num_skills: int = 4, mask_keep: float = 0.5, seed: int = 0, hidden: tuple[int, int] = HIDDEN
) -> SkillMLP:
    """Return a small network."""
    return SkillMLP(
        INPUTS, hidden, OUTPUTS, num_skills, mask_keep, torch.Generator().manual_seed(seed)
    )


def inputs(count: int, size: int = INPUTS) -> torch.Tensor:
    """Return inputs of about unit size."""
    return torch.randn(count, size, generator=torch.Generator().manual_seed(1))


# --- Masks ---------------------------------------------------------------------------------------


def test_output_is_the_masked_recipe() -> None:
    """The order is Linear, ELU, mask of the skill, twice, then Linear."""
    net, x = network(), inputs(6)
    skill = torch.tensor([0, 1, 2, 3, 0, 1])
    one = functional.elu(x @ net.first.weight.T + net.first.bias) * net.mask0[skill]
    two = functional.elu(one @ net.second.weight.T + net.second.bias) * net.mask1[skill]
    close(net(x, skill), two @ net.head.weight.T + net.head.bias)


def test_a_masked_unit_has_no_influence_on_its_skill() -> None:
    """Weights of a masked unit do not change the output; for other skills they do."""
    net, x = network(num_skills=2), inputs(4)
    net.mask0[0] = 1.0
    net.mask0[0, 3], net.mask0[1, 3] = 0.0, 1.0
    net.mask1[:] = 1.0
    skills = [torch.full((4,), skill) for skill in (0, 1)]
    before = [net(x, skill) for skill in skills]
    with torch.no_grad():
        net.first.weight[3] += 5.0
    after = [net(x, skill) for skill in skills]
    close(after[0], before[0], rtol=0, atol=0)
    assert (after[1] != before[1]).any()


def test_weights_into_a_masked_unit_get_no_gradient() -> None:
    """A skill trains only its own units."""
    net = network(num_skills=2)
    net(inputs(7), torch.zeros(7, dtype=torch.long)).sum().backward()
    gradient = net.first.weight.grad
    assert gradient is not None
    assert not gradient[net.mask0[0] == 0].any()
    assert gradient[net.mask0[0] == 1].any()


def test_a_single_skill_has_all_units() -> None:
    """Masks would waste half of the expert's network."""
    net = network(num_skills=1, mask_keep=0.1)
    assert (net.mask0 == 1).all()
    assert (net.mask1 == 1).all()


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 1.0])
def test_masks_are_zero_or_one_and_keep_the_given_share(keep: float) -> None:
    """`keep` is the probability of staying: 4 * 500 draws, within five standard deviations."""
    mask = network(mask_keep=keep, hidden=(500, 8)).mask0
    assert set(mask.unique().tolist()) <= {0.0, 1.0}
    assert abs(float(mask.mean()) - keep) <= 5 * (keep * (1 - keep) / mask.numel()) ** 0.5


def test_every_skill_and_layer_has_its_own_mask() -> None:
    """Skills with equal masks would be one skill."""
    net = network(hidden=(32, 32))
    rows = torch.cat([net.mask0, net.mask1])
    assert len(rows.unique(dim=0)) == len(rows) == 8


def test_masks_are_saved_but_not_trained() -> None:
    """Masks are part of the state, but of no optimiser."""
    net = network()
    assert {"mask0", "mask1"} <= set(net.state_dict())
    assert not {"mask0", "mask1"} & {name for name, _ in net.named_parameters()}


def test_for_all_skills_equals_one_skill_after_the_other() -> None:
    """The shared first layer saves time and gives the same result."""
    net, x = network(), inputs(6)
    together = net.for_all_skills(x)
    assert together.shape == (6, 4, OUTPUTS)
    for skill in range(4):
        close(together[:, skill], net(x, torch.full((6,), skill)))


# --- Seeds ---------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_network() -> None:
    """Weights and masks come from the generator that was passed in, not from a global one."""
    torch.manual_seed(1)
    one = network(seed=3).state_dict()
    torch.manual_seed(2)
    same, other = network(seed=3).state_dict(), network(seed=4).state_dict()
    for name, value in one.items():
        close(value, same[name], rtol=0, atol=0)
        assert (value != other[name]).any(), name


def test_weights_follow_pytorchs_default_law() -> None:
    """Weights and biases are uniform within 1 / sqrt(inputs)."""
    net = network(hidden=(400, 100))
    for layer in net.layers:
        bound = layer.in_features**-0.5
        for parameter in layer.parameters():
            assert parameter.abs().max() <= bound
        assert layer.weight.abs().max() > 0.99 * bound
        assert abs(float(layer.weight.detach().mean())) < 0.05 * bound


# --- Policy --------------------------------------------------------------------------------------


def policy() -> GaussianPolicy:
    """Return a policy with different standard deviations."""
    result = GaussianPolicy(network(), OUTPUTS)
    with torch.no_grad():
        result.log_std[:] = torch.tensor([-1.0, 0.2, 0.7])
    return result


def test_log_prob_and_entropy_are_those_of_a_diagonal_gaussian() -> None:
    """The reference is torch's distribution."""
    actor = policy()
    mean, action = inputs(6, OUTPUTS), inputs(6, OUTPUTS) * 2 + 1
    normal = torch.distributions.Normal(mean, actor.log_std.exp())
    close(actor.log_prob(mean, action), normal.log_prob(action).sum(-1))
    close(actor.entropy(), normal.entropy()[0].sum())


def test_log_prob_at_the_mean_of_a_unit_gaussian_is_minus_half_log_two_pi_per_action() -> None:
    """Values by hand: -log(2 pi) / 2 = -0.9189 each, and an entropy of 1.4189."""
    actor = GaussianPolicy(network(), OUTPUTS)
    close(actor.log_prob(torch.zeros(1, 3), torch.zeros(1, 3)), torch.tensor([-3 * 0.9189385]))
    close(actor.entropy(), torch.tensor(3 * 1.4189385))


def test_a_new_policy_stays_near_the_default_pose() -> None:
    """Its mean is a tenth of the unscaled network's output, without bias.

    Its deviation is one.
    """
    actor, plain, x = GaussianPolicy(network(), OUTPUTS), network(), inputs(50)
    skill = torch.arange(50) % 4
    close(actor(x, skill), 0.1 * (plain(x, skill) - plain.head.bias))
    close(actor.log_std, torch.zeros(OUTPUTS), check_dtype=False)


def test_the_deviation_is_learned_too() -> None:
    """With a fixed deviation, exploration would never end."""
    actor = policy()
    actor.entropy().backward()
    close(actor.log_std.grad, torch.ones(OUTPUTS))


# --- Normaliser ----------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=6), st.floats(-50, 50), st.floats(0.01, 10)
)
def test_normaliser_has_the_statistics_of_all_samples_however_they_are_split(
    sizes: list[int], centre: float, spread: float
) -> None:
    """For batches of any size, mean and biased variance are those of all samples."""
    samples = inputs(sum(sizes), 3) * spread + centre
    normaliser = Normaliser(3)
    for batch in samples.split(sizes):
        normaliser.update(batch)
    exact = samples.double()
    close(normaliser.mean, exact.mean(0).float(), rtol=1e-5, atol=1e-4)
    close(normaliser.var, exact.var(0, correction=0).float(), rtol=1e-3, atol=1e-3)
    assert normaliser.count == sum(sizes)


def test_normaliser_by_hand() -> None:
    """1 and 3, then 8: mean 4, variance (9 + 1 + 16) / 3."""
    normaliser = Normaliser(1)
    normaliser.update(torch.tensor([[1.0], [3.0]]))
    close((normaliser.mean, normaliser.var), (torch.tensor([2.0]), torch.tensor([1.0])))
    normaliser.update(torch.tensor([[8.0]]))
    close((normaliser.mean, normaliser.var), (torch.tensor([4.0]), torch.tensor([26 / 3])))
    close(normaliser(torch.tensor([5.0])), torch.tensor([1 / ((26 / 3) ** 0.5 + 0.01)]))


def test_normaliser_keeps_inputs_that_never_change_finite() -> None:
    """The command of the forward expert has no variance; it becomes zero, not NaN."""
    normaliser = Normaliser(1)
    normaliser.update(torch.full((10, 1), 0.7))
    close(
        normaliser(torch.tensor([[0.7], [0.71]])),
        torch.tensor([[0.0], [0.01 / NORMALISER_FLOOR]]),
        rtol=1e-4,
        atol=1e-5,
    )


def test_normaliser_changes_only_in_updates() -> None:
    """Normalising does not count a sample; the original code counts some samples twenty times."""
    normaliser = Normaliser(2)
    normaliser.update(inputs(5, 2))
    before = {name: value.clone() for name, value in normaliser.state_dict().items()}
    normaliser(inputs(9, 2) + 7)
    for name, value in before.items():
        close(normaliser.state_dict()[name], value, rtol=0, atol=0)


def test_a_new_normaliser_leaves_inputs_almost_alone() -> None:
    """With mean 0 and deviation 1, only the floor of 0.01 has an effect."""
    close(Normaliser(2)(torch.tensor([[2.0, -3.0]])), torch.tensor([[2.0, -3.0]]) / 1.01)
