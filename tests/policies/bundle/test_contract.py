"""Contracts: equal text for equal content, exact numbers, strict reading."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.contract import (
    SCHEMA,
    BundleError,
    Contract,
    canonical,
    digest,
    parse_json,
)
from tests.policies.bundles import EVALUATED, contract

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
FIELDS = [field.name for field in fields(Contract)]


def content(**changes: object) -> str:
    """Return the text of a contract with changes that the class would not allow."""
    return json.dumps(json.loads(contract().canonical()) | changes)


def refusal(text: str) -> str:
    """Return the error message for a text; it begins with the path and ends with the remedy."""
    with pytest.raises(BundleError) as error:
        Contract.parse(text, "some/skills.onnx")
    assert str(error.value).startswith("some/skills.onnx: ")
    assert str(error.value).endswith("Export it again.")
    return str(error.value)


# --- Writing -------------------------------------------------------------------------------------


def test_canonical_text_is_sorted_compact_and_in_full() -> None:
    """The text is exact, including numbers without a short form."""
    found = canonical({"b": (0.1 + 0.2, 1.0, 1), "a": {"y": None, "x": "é"}, "c": 1 / 3})
    assert (
        found
        == '{"a":{"x":"\\u00e9","y":null},"b":[0.30000000000000004,1.0,1],"c":0.3333333333333333}'
    )


def test_equal_contracts_have_one_text() -> None:
    """The order of dictionaries has no effect."""
    one, other = (
        contract(made_from={"run": "r", "data": 1}),
        contract(made_from={"data": 1, "run": "r"}),
    )
    assert one.canonical() == other.canonical()
    assert one.canonical() != contract(made_from={"data": 2, "run": "r"}).canonical()


def test_another_process_writes_the_same_text() -> None:
    """The hash seed has no effect, because no text depends on the order of sets."""
    program = "from tests.policies.bundles import contract; print(contract().canonical(), end='')"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {contract().canonical()}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_not_written(number: float) -> None:
    """They are not standard JSON, although Python accepts them."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        contract(kp=number).canonical()


def test_digest_is_sha_256() -> None:
    """The reference is the published example."""
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


# --- Reading back --------------------------------------------------------------------------------


def test_a_contract_comes_back_as_it_was() -> None:
    """All fields and the text are equal; tuples stay tuples."""
    before = contract()
    after = Contract.parse(before.canonical(), "here")
    assert after == before
    assert after.canonical() == before.canonical()
    assert isinstance(after.joint_names, tuple)
    assert isinstance(after.envelope["low"], tuple)
    assert after.skills == EVALUATED


@given(kp=NUMBERS, pose=st.tuples(*[NUMBERS] * 12), lag=st.tuples(*[NUMBERS] * 3), skill=NUMBERS)
def test_every_number_comes_back_to_its_last_bit(
    kp: float, pose: tuple[float, ...], lag: tuple[float, float, float], skill: float
) -> None:
    """The numbers include subnormal and huge ones, and negative zero."""
    before = replace(contract(), kp=kp, default_pose=pose, motor_lag=lag, skills=({"vx": skill},))
    after = Contract.parse(before.canonical(), "here")
    numbers = [
        [
            number.hex()
            for number in (one.kp, *one.default_pose, *one.motor_lag, one.skills[0]["vx"])
        ]
        for one in (before, after)
    ]
    assert numbers[0] == numbers[1]


def test_whole_numbers_are_numbers() -> None:
    """The integer 5 is a valid gain."""
    assert Contract.parse(content(kp=5, command=[1, 0, 0]), "here").command == (1, 0, 0)


def test_a_contract_of_an_unevaluated_policy_comes_back() -> None:
    """The contract has no skills."""
    assert Contract.parse(contract(skills=()).canonical(), "here").skills == ()


# --- Refusing ------------------------------------------------------------------------------------


def test_a_refused_contract_is_a_user_error() -> None:
    """`BundleError` is a `SoloError`, which commands print as one line."""
    assert issubclass(BundleError, SoloError)


@pytest.mark.parametrize(
    "text", ["", "{", "kp: 5", "{'kp': 5}", '{"kp": 5,}', '{"kp": NaN}', '{"kp": -Infinity}']
)
def test_text_that_is_not_json_is_refused(text: str) -> None:
    """NaN is not valid JSON either."""
    assert "its contract is not JSON (" in refusal(text)


def test_a_text_nested_without_end_is_refused() -> None:
    """The reader's stack overflows without ending the program."""
    assert "its contract is not JSON (" in refusal("[" * 100_000)


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, None, "1", [1]])
def test_another_schema_is_refused(schema: object) -> None:
    """The error contains both schemas."""
    assert f"contract schema {schema}, this program reads {SCHEMA}" in refusal(
        content(schema=schema)
    )


@pytest.mark.parametrize("text", ["[]", "5", "null", '"contract"', "{}"])
def test_json_that_is_no_contract_is_refused(text: str) -> None:
    """The object has no schema."""
    assert "contract schema None" in refusal(text)


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "schema"])
def test_a_missing_field_is_named(name: str) -> None:
    """No field has a default."""
    whole = json.loads(content())
    del whole[name]
    assert f"missing or unknown contract fields: {name}." in refusal(json.dumps(whole))


def test_a_field_too_many_is_named() -> None:
    """The field may be important for the robot. A renamed field appears under both names."""
    assert "missing or unknown contract fields: gait." in refusal(content(gait="trot"))
    whole = json.loads(content(stiffness=5.0))
    del whole["kp"]
    assert "missing or unknown contract fields: kp, stiffness." in refusal(json.dumps(whole))


WRONG: dict[str, list[Any]] = {
    "schema": [True, 1.0],
    "task": [None, 3, ["locomotion"]],
    "joint_names": ["FL_HAA", None, 12, [1, 2], {"FL_HAA": 0}],
    "default_pose": [0.5, ["0.5"], [None], [[0.5]], [True]],
    "kp": ["5.0", None, True, [5.0], {}],
    "action_scale": [[0.25] * 12],
    "observation": [{}, ["gravity"], [["gravity", 3]]],
    "control_dt": ["20 ms"],
    "motor_lag": [[], [0.01, 0.02], [0.01, 0.02, 0.03, 0.04], 0.015],
    "command": [[1.0], None],
    "command_range": [[], {"low": 1.0}, {"high": ["1"]}, None],
    "envelope": [[], {"low": 1.0}, {"low": [None]}],
    "skills": [None, [1]],
    "num_skills": ["3", 3.0, None, True],
    "made_from": [[], "run"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_value_of_another_type_is_refused(name: str, value: object) -> None:
    """Otherwise a wrong type would be found only with the motors on."""
    assert f" for {name}." in refusal(content(**{name: value}))


def test_a_number_too_large_to_be_one_is_refused() -> None:
    """JSON has no largest number, but a float has."""
    assert "says inf for kp" in refusal(content(kp=5.5).replace("5.5", "1e999"))


@given(
    st.text()
    | st.recursive(st.none() | st.booleans() | NUMBERS | st.text(), st.lists).map(json.dumps)
)
def test_any_other_text_is_refused(text: str) -> None:
    """Any text leads to the same error."""
    refusal(text)


@given(
    name=st.sampled_from(FIELDS),
    value=st.recursive(st.none() | st.booleans() | NUMBERS | st.text(), st.lists),
)
def test_any_value_of_a_field_is_refused_or_read(name: str, value: object) -> None:
    """A value that is read is written again unchanged."""
    text = content(**{name: value})
    try:
        found = Contract.parse(text, "here")
    except BundleError:
        return
    assert json.loads(found.canonical()) == json.loads(text)


def test_json_without_nan_is_read_as_usual() -> None:
    """The strict reader differs only in NaN."""
    assert parse_json('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    with pytest.raises(ValueError, match="NaN is not a number"):
        parse_json("[NaN]")
