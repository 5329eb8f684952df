"""Fields of a dataset: names, types and purposes."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.data.schema import INFO_FIELDS, Field, episode_fields, transition_fields

ALL = (*transition_fields(48), *INFO_FIELDS, *episode_fields(("friction", "added_mass")))


def test_transitions_have_the_names_that_d4rl_tools_look_for() -> None:
    """Tools for D4RL can read our shards."""
    names = {field.name for field in transition_fields(48)}
    assert {
        "observations",
        "actions",
        "next_observations",
        "rewards",
        "terminals",
        "timeouts",
    } <= names


def test_without_actions_only_the_actions_are_missing() -> None:
    with_actions, without = transition_fields(48), transition_fields(48, actions=False)
    (added,) = set(with_actions) - set(without)
    assert (added.name, added.shape) == ("actions", (12,))
    assert not set(without) - set(with_actions)


def test_observations_and_their_successors_have_the_asked_size() -> None:
    """The layout of another task gives other shapes."""
    shapes = {field.name: field.shape for field in transition_fields(171)}
    assert shapes["observations"] == shapes["next_observations"] == (171,)
    assert shapes["actions"] == (12,)


def test_names_are_unique() -> None:
    """A second field of the same name would overwrite the first."""
    names = [field.name for field in ALL]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("field", ALL, ids=lambda field: field.name)
def test_types_are_the_same_on_every_machine_and_everything_is_explained(field: Field) -> None:
    """The byte order is explicit, since memory maps do not convert.

    The card lists the meaning of every field.
    """
    assert field.dtype[0] in "<|"
    assert np.dtype(field.dtype).str == field.dtype
    assert field.meaning


def test_fields_of_a_trajectory_are_below_episodes() -> None:
    """These have one entry per trajectory, the others one per transition."""
    assert all(field.per_trajectory for field in episode_fields(("friction",)))
    assert not any(field.per_trajectory for field in (*transition_fields(48), *INFO_FIELDS))


def test_each_physical_parameter_is_recorded_under_its_name() -> None:
    """Double precision allows an exact replay."""
    recorded = {field.name: field.dtype for field in episode_fields(("friction", "added_mass"))}
    assert recorded["episodes/domain/friction"] == recorded["episodes/domain/added_mass"] == "<f8"
