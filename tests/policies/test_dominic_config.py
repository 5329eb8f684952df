"""The JSON file beside an official checkpoint, made up from its published structure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from solo_doi.policies.dominic_config import DominicConfigError, RewardTerm, read_dominic_config


def official() -> dict[str, Any]:
    """The nesting of the official file, with some of what is passed over."""
    return {
        "solo_legged_gym": {
            "train_cfg": {
                "algorithm": {"alpha_0": 0.9, "burning_expert_steps": 800, "fixed_adv_coeff": "[3.0, 1.5, 1.0]"},
                "algorithm_name": "DOMINIC",
                "network": {
                    "drop_out_rate": 0.9,
                    "policy_activation": "elu",
                    "policy_hidden_dims": [256, 128],
                    "succ_feat_hidden_dims": [64, 32],
                    "value_hidden_dims": [128, 64, 32],
                },
                "runner": {"max_iterations": 2000, "normalize_observation": True},
            },
            "env_cfg": {
                "env": {"num_actions": 12, "num_envs": 4096, "num_observations": 171, "num_skills": 8},
                "rewards": {
                    "num_groups": 3,
                    "terms": {
                        "posi": "[0, 1.0]",
                        "torques": "[1, 300]",
                        "joint_default": "[2, [5.0, 0.9]]",
                        "stall_pos": "[1, [0.3, 0.25, 0.1]]",
                    },
                },
                "seed": 42,
            },
        }
    }


def written(path: Path, content: object) -> Path:
    """A JSON file."""
    path.write_text(json.dumps(content))
    return path


def refusal(path: Path) -> str:
    """The message with which a file is refused; it begins with the path."""
    with pytest.raises(DominicConfigError) as error:
        read_dominic_config(path)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value)


def test_skills_sizes_and_reward_terms_are_read(tmp_path: Path) -> None:
    """Terms are kept as text in the file: a group, then a width or a list of numbers."""
    config = read_dominic_config(written(tmp_path / "solo12_dominic_position.json", official()))
    assert config.algorithm == "DOMINIC"
    assert (config.num_skills, config.num_observations, config.num_actions) == (8, 171, 12)
    assert config.policy_hidden == (256, 128)
    assert config.value_hidden == (128, 64, 32)
    assert config.successor_hidden == (64, 32)
    assert config.reward_terms == {
        "posi": RewardTerm(0, (1.0,)),
        "torques": RewardTerm(1, (300.0,)),
        "joint_default": RewardTerm(2, (5.0, 0.9)),
        "stall_pos": RewardTerm(1, (0.3, 0.25, 0.1)),
    }


PLACES = [
    ("train_cfg",),
    ("train_cfg", "algorithm_name"),
    ("train_cfg", "network"),
    ("train_cfg", "network", "value_hidden_dims"),
    ("env_cfg", "env", "num_skills"),
    ("env_cfg", "rewards", "terms"),
]


@pytest.mark.parametrize("place", PLACES)
def test_a_missing_setting_is_named_by_its_whole_path(tmp_path: Path, place: tuple[str, ...]) -> None:
    """A file of another algorithm has other names."""
    content = official()
    *above, last = ("solo_legged_gym", *place)
    part = content
    for key in above:
        part = part[key]
    del part[last]
    assert f"has no solo_legged_gym.{'.'.join(place)}. " in refusal(written(tmp_path / "run.json", content))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("env_cfg", "env", "num_skills"), "8", "num_skills is '8', expected a int"),
        (("env_cfg", "env", "num_skills"), 0, "num_skills has 0, expected whole numbers of 1 or more"),
        (("env_cfg", "env", "num_skills"), True, "num_skills has True"),
        (("train_cfg", "network", "policy_hidden_dims"), 256, "policy_hidden_dims is 256, expected a list"),
        (("train_cfg", "network", "policy_hidden_dims"), [256, 0.5], "policy_hidden_dims has 0.5"),
        (("train_cfg", "algorithm_name"), 3, "algorithm_name is 3, expected a str"),
        (("env_cfg", "rewards", "terms"), ["posi"], "terms is ['posi'], expected a dict"),
        (("env_cfg", "rewards"), 7, "has no solo_legged_gym.env_cfg.rewards.terms"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(
    tmp_path: Path, place: tuple[str, ...], value: object, message: str
) -> None:
    """It is said where, what was found and what was expected."""
    content = official()
    *above, last = ("solo_legged_gym", *place)
    part = content
    for key in above:
        part = part[key]
    part[last] = value
    assert message in refusal(written(tmp_path / "run.json", content))


NO_PAIRS: list[object] = [
    *("", "1", "posi", "[1]", "[1, 2, 3]", "[1, 1.0", "(" * 9999),
    *("[-1, 1.0]", "[1.5, 1.0]", "[True, 1.0]"),
    *("[1, []]", "[1, '2']", "[1, [2, None]]", f"[1, {10**400}]"),
    *([1, 1.0], None, 3),
]


@pytest.mark.parametrize("text", NO_PAIRS, ids=lambda text: str(text)[:15])
def test_a_reward_term_that_is_no_pair_is_refused(tmp_path: Path, text: object) -> None:
    """A group and numbers, as text; anything else is named, not guessed at."""
    content = official()
    content["solo_legged_gym"]["env_cfg"]["rewards"]["terms"]["posi"] = text
    assert "reward term 'posi' is" in refusal(written(tmp_path / "run.json", content))


def test_a_reward_term_is_not_executed(tmp_path: Path) -> None:
    """Upstream evaluates such text as Python; here it is a literal or nothing."""
    target = tmp_path / "executed"
    content = official()
    terms = content["solo_legged_gym"]["env_cfg"]["rewards"]["terms"]
    terms["posi"] = f"[0, __import__('pathlib').Path({str(target)!r}).touch()]"
    assert "reward term 'posi'" in refusal(written(tmp_path / "run.json", content))
    assert not target.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"solo: 12", b"[" * 100_000])
def test_a_file_that_is_not_json_is_refused(tmp_path: Path, content: bytes) -> None:
    """Empty, broken off, not text, YAML, nested without end."""
    path = tmp_path / "run.json"
    path.write_bytes(content)
    assert "not valid JSON" in refusal(path)


@pytest.mark.parametrize("content", [[], None, 3, {}, {"other": {}}])
def test_json_of_something_else_is_refused(tmp_path: Path, content: object) -> None:
    """The first name that is missing is the outermost one."""
    assert "has no solo_legged_gym." in refusal(written(tmp_path / "run.json", content))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """With the system's reason, and what was expected."""
    assert "No such file or directory. Expected the JSON file beside" in refusal(tmp_path / "absent.json")
