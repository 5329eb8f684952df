"""Bundles: read whole or refused, whatever happened to the file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from solo_doi.errors import MissingPackageError
from solo_doi.policies.bundle import FILE_HASH, NO_HASH, Bundle, TestVectors, seal, sealed
from solo_doi.policies.contract import BundleError, Contract, canonical, digest
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.observation import LAYOUTS

from .bundles import POLICIES, SKILLS, contract, masked_policy, metadata, skill_policy, spoiled, with_texts, write


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A good file."""
    return write(tmp_path_factory.mktemp("good") / "skills.onnx").read_bytes()


@pytest.fixture
def path(content: bytes, tmp_path: Path) -> Path:
    """A good file, to be spoiled."""
    path = tmp_path / "skills.onnx"
    path.write_bytes(content)
    return path


def refusal(path: Path) -> str:
    """The message with which a file is refused; it begins with the path and is one line."""
    with pytest.raises(BundleError) as error:
        Bundle(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    return str(error.value)


UNSEALED = "not a bundle of solo-export, or changed after it was written"


def assert_unsealed(path: Path, content: bytes) -> None:
    """A file of this content is refused by its hash."""
    path.write_bytes(content)
    assert UNSEALED in refusal(path)


# --- A good file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_a_good_file_says_what_it_is(name: str, tmp_path: Path) -> None:
    """Task, sizes, hash and how well the graph fits."""
    task, build = POLICIES[name]
    policy, path = build(), tmp_path / "skills.onnx"
    bundle = Bundle(write(path, policy))
    assert (bundle.contract.task, bundle.path) == (task, path)
    assert (bundle.num_skills, bundle.observation_size) == (policy.num_skills, policy.observation_size)
    assert bundle.contract == Contract.parse(metadata(path)["solo12.contract"], "here")
    assert bundle.parity["largest_difference"] <= 1e-5
    blank = path.read_bytes().replace(bundle.hash.encode(), NO_HASH)
    assert bundle.hash == digest(blank)


def test_an_action_needs_no_batch_of_skills(path: Path) -> None:
    """One number serves all rows, in any precision; each row may have its own."""
    bundle, policy = Bundle(path), skill_policy()
    observation = np.random.default_rng(0).standard_normal((4, 48))
    choices: list[int | np.ndarray] = [2, np.array(1), np.array([2, 0, 1, 2]), np.array([0, 0, 1, 1], dtype=np.int32)]
    for skill in choices:
        expected = policy.mean_action(observation.astype(np.float32), skill)
        np.testing.assert_allclose(bundle.mean_action(observation, skill), expected, atol=1e-5)


@pytest.mark.parametrize("skill", [-1, SKILLS, [0, SKILLS], [-1, 0]])
def test_a_skill_that_does_not_exist_is_refused(path: Path, skill: int | list[int]) -> None:
    """Also a negative one, which the graph would count from the end; by both ways to run."""
    bundle, observation = Bundle(path), np.zeros((2, 48), dtype=np.float32)
    with pytest.raises(BundleError, match=r"does not exist: .*skills\.onnx has skills 0 to 2"):
        bundle.mean_action(observation, np.array(skill))
    with pytest.raises(BundleError, match="does not exist"):
        bundle.run(observation, np.broadcast_to(np.array(skill), 2))


@pytest.mark.parametrize("shape", [(1, 47), (1, 171), (48,), (1, 1, 48), ()])
def test_an_observation_of_another_shape_is_refused(path: Path, shape: tuple[int, ...]) -> None:
    """Both shapes are named."""
    with pytest.raises(BundleError, match=r"takes \(B, 48\) numbers, found \("):
        Bundle(path).run(np.zeros(shape, dtype=np.float32), np.zeros(1, dtype=np.int64))


def test_test_vectors_come_back_bit_by_bit() -> None:
    """Also numbers that have no short form, and the sign of zero."""
    rng = np.random.default_rng(0)
    vectors = TestVectors(
        rng.standard_normal((5, 48)).astype(np.float32),
        np.array([0, 1, 2, 2**40, -1]),
        np.array([[1 / 3, -0.0, 1e-45, 3e38, np.nan, np.inf] * 2] * 5, dtype=np.float32),
    )
    back = TestVectors.decode(vectors.encode())
    for name, array in vars(vectors).items():
        assert getattr(back, name).tobytes() == array.tobytes()
        assert (getattr(back, name).dtype, getattr(back, name).shape) == (array.dtype, array.shape)


def test_test_vectors_are_of_every_skill(tmp_path: Path) -> None:
    """Or a damaged row of one would not be seen; also of more skills than vectors are kept otherwise."""
    for skills in (1, 3, 40):
        path = write(tmp_path / "skills.onnx", skill_policy(skills=skills))
        vectors = TestVectors.decode(metadata(path)["solo12.test_vectors"])
        assert {*vectors.skill.tolist()} == {*range(skills)}


# --- The seal ------------------------------------------------------------------------------------


def test_a_seal_holds_and_is_put_on_once(content: bytes) -> None:
    """Sealing a sealed file changes nothing."""
    assert sealed(content)
    assert seal(content) == content


def test_a_file_without_a_place_for_its_hash_cannot_be_sealed() -> None:
    """That is a mistake of the program, not of a user."""
    with pytest.raises(ValueError, match=f"no {FILE_HASH} with 64 zeros"):
        seal(b"model")
    assert not sealed(b"model")


def test_one_changed_byte_anywhere_is_seen(path: Path, content: bytes) -> None:
    """Some bytes all over the file, and more within weights, contract, test vectors and hash."""
    rng = np.random.default_rng(0)
    weights = onnx.load_from_string(content).graph.initializer[2].raw_data
    texts = {key: value.encode() for key, value in metadata(path).items()}
    parts = [weights, *(texts[f"solo12.{name}"] for name in ("contract", "test_vectors", "parity", "file_sha256"))]
    places = rng.integers(0, len(content), 150).tolist()
    for part in parts:
        start = content.index(part)
        places += (start + rng.integers(0, len(part), 40)).tolist()
    places += range(content.index(FILE_HASH.encode()), len(content))  # name, length and all of the hash
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        assert_unsealed(path, bytes(damaged))


def test_a_file_cut_off_anywhere_is_refused(path: Path, content: bytes) -> None:
    """A copy that broke off, early or one byte before its end."""
    for length in (*range(0, len(content), len(content) // 150), *range(len(content) - 100, len(content))):
        assert_unsealed(path, content[:length])


def test_a_file_that_goes_on_is_refused(path: Path, content: bytes) -> None:
    """Two files in one, or one byte too many."""
    assert_unsealed(path, content + b"\x00")
    assert_unsealed(path, content + content[:-1])


@given(content=st.binary(max_size=2000), marked=st.booleans())
def test_random_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes, marked: bool) -> None:
    """Also with the place of a hash among them."""
    marker = FILE_HASH.encode() + b"\x12\x40" + NO_HASH if marked else b""
    assert_unsealed(tmp_path_factory.getbasetemp() / "random.onnx", content + marker + content)


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed, lost, doubled, copied elsewhere or blanked, at one to three places."""
    damaged = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        start, goal = rng.integers(0, len(damaged), 2).tolist()
        part = bytes(damaged[start : start + int(rng.integers(1, 60))])
        kind = rng.integers(0, 5)
        if kind == 0:
            damaged[start] ^= int(rng.integers(1, 256))
        elif kind == 1:
            del damaged[start : start + len(part)]
        elif kind == 2:
            damaged[start:start] = part
        elif kind == 3:
            damaged[goal : goal + len(part)] = part
        else:
            damaged[start : start + len(part)] = bytes(len(part))
    return bytes(damaged)


def test_mutated_files_are_refused_and_nothing_else(path: Path, content: bytes) -> None:
    """Two thousand of them, with one and the same error."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        damaged = mutated(content, rng)
        if damaged != content:
            assert_unsealed(path, damaged)


def test_mutated_files_that_are_sealed_again_are_refused_or_read_but_nothing_else(path: Path, content: bytes) -> None:
    """The seal stops none of these, but most make no model, no contract or other actions."""
    rng, refused = np.random.default_rng(1), 0
    for _ in range(300):
        with suppress(ValueError):  # the place of the hash is gone
            path.write_bytes(seal(mutated(content, rng)))
        try:
            Bundle(path)
        except BundleError:
            refused += 1
    assert refused > 200


# --- Other files ---------------------------------------------------------------------------------


def ordinary_model() -> onnx.ModelProto:
    """A model as any tool writes it."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 48]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "ordinary", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_an_ordinary_model_is_refused(tmp_path: Path) -> None:
    """It is not sealed; and if it is, it still has no contract."""
    path, model = tmp_path / "model.onnx", ordinary_model()
    assert_unsealed(path, model.SerializeToString())
    model.metadata_props.add(key=FILE_HASH, value=NO_HASH.decode())
    path.write_bytes(seal(model.SerializeToString()))
    expected = "a model without solo12.contract, solo12.parity, solo12.test_vectors: not written by solo-export"
    assert expected in refusal(path)


def test_a_hash_that_is_no_entry_of_the_model_does_not_count(tmp_path: Path) -> None:
    """It may stand in any text of the file."""
    path, model = tmp_path / "model.onnx", ordinary_model()
    model.metadata_props.add(key="note", value=f"{FILE_HASH}\x12\x40{NO_HASH.decode()}")
    path.write_bytes(seal(model.SerializeToString()))
    assert "a model without solo12.contract, solo12.file_sha256" in refusal(path)


def test_sealed_bytes_that_are_no_model_are_refused(tmp_path: Path) -> None:
    """In the words of onnxruntime, of which one line is enough."""
    path = tmp_path / "model.onnx"
    path.write_bytes(seal(b"model " + FILE_HASH.encode() + b"\x12\x40" + NO_HASH))
    assert "not a model that can be read (" in refusal(path)


def test_no_file_a_directory_and_an_empty_file_are_refused(tmp_path: Path) -> None:
    """With a word on what was expected."""
    for path in (tmp_path / "absent.onnx", tmp_path):
        assert "no such file. Expected a bundle written by solo-export" in refusal(path)
    assert_unsealed(tmp_path / "empty.onnx", b"")


def test_a_file_that_may_not_be_read_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the system's words."""

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "cannot be read (Permission denied)" in refusal(path)


# --- Sealed, and yet not ours --------------------------------------------------------------------

SWAPPED = (*JOINT_NAMES[3:6], *JOINT_NAMES[:3], *JOINT_NAMES[6:])
TERMS = contract().observation
NAVIGATION = tuple({"name": t.name, "size": t.size, "unit": "", "frame": ""} for t in LAYOUTS["navigation"].terms)
CONTRACTS: dict[str, tuple[dict[str, object], str]] = {
    "joints in another order": (
        {"joint_names": SWAPPED},
        "joints FR_HAA, FR_HFE, FR_KFE, FL_HAA, .* not Solo12's in this project's order FL_HAA, ",
    ),
    "a joint too few": ({"joint_names": JOINT_NAMES[:-1]}, "are not Solo12's"),
    "terms in another order": (
        {"observation": TERMS[::-1]},
        r"observes \[\('command', 3\).*this program builds \[\('l",
    ),
    "a term too few": ({"observation": TERMS[:-1]}, r"'previous_action', 12\)\], this program builds .*'command', 3\)"),
    "a term of another size": ({"observation": ({**TERMS[0], "size": 2}, *TERMS[1:])}, r"observes \[\('linear_v.*', 2"),
    "an envelope without an end": ({"envelope": {"low": (0.0,) * 48}}, "its envelope is not of a low and a high of 48"),
    "a command of another size": (
        {"command_range": {"low": (0.0,), "high": (1.0,)}},
        "its command_range is not of a low and a high of 3 numbers",
    ),
    "a term without a name": ({"observation": ({"size": 3}, *TERMS[1:])}, r"observes \[\(None, 3\)"),
    "an unknown task": ({"task": "jumping"}, "made for task 'jumping', known are locomotion, navigation"),
    "another known task": ({"task": "navigation"}, "this program builds .*height_scan"),
    "another known task with its terms": (
        {"task": "navigation", "observation": NAVIGATION, "envelope": {"low": (0.0,) * 171, "high": (1.0,) * 171}},
        r"its graph is of .*'batch', 48\].*, its contract of .*'batch', 171\]",
    ),
    "a skill more": ({"num_skills": SKILLS + 1}, "its test vectors are not of its 4 skills"),
    "a skill less": ({"num_skills": SKILLS - 1}, "its test vectors are not of its 2 skills"),
    "no skills": ({"num_skills": 0}, "its test vectors are not of its 0 skills"),
    "very many skills": ({"num_skills": 10**15}, "its test vectors are not of its 10+ skills"),
    "another pose": ({"default_pose": (0.0, *contract().default_pose[1:])}, r"test vectors come out 5\.0e-02 off"),
    "a pose of a joint too few": ({"default_pose": contract().default_pose[:-1]}, r"vectors cannot be run \(operands"),
    "another scale": ({"action_scale": 0.5}, "test vectors come out .* off, allowed is 1e-05"),
    "other limits": ({"position_limit": (0.01,) * 12}, "test vectors come out .* off"),
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_that_does_not_fit_is_refused(path: Path, name: str) -> None:
    """This robot, this program, the graph beside it: the reason is named, though the hash is right."""
    changes, reason = CONTRACTS[name]
    message = refusal(with_texts(path, contract=contract(**changes).canonical()))
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(message)


def vectors_of(path: Path) -> TestVectors:
    """The test vectors of a file."""
    return TestVectors.decode(metadata(path)["solo12.test_vectors"])


def encoded(vectors: TestVectors, **changes: np.ndarray) -> str:
    """Test vectors with changes, as a file holds them."""
    return TestVectors(**(vars(vectors) | changes)).encode()


def test_test_vectors_that_come_out_otherwise_are_refused(path: Path) -> None:
    """One number off by little more than what is allowed, or none."""
    vectors = vectors_of(path)
    for number in (2e-5, -2e-5, np.nan, np.inf):
        action = vectors.action.copy()
        action[7, 5] += number
        message = refusal(with_texts(path, test_vectors=encoded(vectors, action=action)))
        assert f"come out {abs(number):.1e}"[:12] in message
        assert "allowed is 1e-05" in message
        assert "do not run it" in message


def test_test_vectors_within_rounding_are_accepted(path: Path) -> None:
    """Another machine may round otherwise."""
    vectors = vectors_of(path)
    with_texts(path, test_vectors=encoded(vectors, action=vectors.action + np.float32(5e-6)))
    assert Bundle(path).num_skills == SKILLS


@pytest.mark.parametrize("name", ["observation", "skill", "action"])
@pytest.mark.parametrize("kept", [slice(0), slice(1), slice(-1), (slice(None), slice(-1))])
def test_test_vectors_of_another_shape_are_refused(path: Path, name: str, kept: slice | tuple[slice, ...]) -> None:
    """Numpy would make some of them fit."""
    array = getattr(vectors_of(path), name)
    array = array[kept] if not isinstance(kept, tuple) or array.ndim == 2 else array[:, None]
    message = refusal(with_texts(path, test_vectors=encoded(vectors_of(path), **{name: array})))
    assert "its test vectors " in message or "takes (B, 48) numbers, found (64, 47)" in message


def test_no_test_vectors_at_all_are_refused(path: Path) -> None:
    """A check of nothing would pass."""
    empty = {name: array[:0] for name, array in vars(vectors_of(path)).items()}
    assert "its test vectors are not of its 3 skills" in refusal(
        with_texts(path, test_vectors=encoded(vectors_of(path), **empty))
    )


def test_test_vectors_of_a_skill_that_does_not_exist_are_refused(path: Path) -> None:
    """Also of a negative one."""
    vectors = vectors_of(path)
    for skill in (SKILLS, -1):
        skills = np.where(vectors.skill == 0, skill, vectors.skill)
        message = refusal(with_texts(path, test_vectors=encoded(vectors, skill=skills)))
        assert "its test vectors are not of its 3 skills" in message


@pytest.mark.parametrize("entry", ["test_vectors", "parity", "contract"])
@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nonsense"])
def test_entries_that_are_no_json_are_refused(path: Path, entry: str, text: str) -> None:
    """Nothing but one error, whatever a reader of JSON raises."""
    message = refusal(with_texts(path, **{entry: text}))
    assert "contract is not JSON" in message or "its test vectors cannot be run" in message


@pytest.mark.parametrize(
    "part",
    [
        None, 5, "text", [], {}, {"shape": [1]}, {"data": "AA=="}, {"shape": [32], "data": 7},
        {"shape": [], "data": ""}, {"shape": [10**30], "data": ""},
        {"shape": [0.5], "data": ""}, {"shape": "32", "data": "!"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["observation", "skill", "action"])
def test_json_that_is_no_test_vectors_is_refused(path: Path, name: str, part: object) -> None:
    """Keys, shapes and numbers of any kind."""
    whole = json.loads(metadata(path)["solo12.test_vectors"])
    message = refusal(with_texts(path, test_vectors=json.dumps(whole | {name: part})))
    assert "its test vectors cannot be run (" in message


@pytest.mark.parametrize("entry", ["contract", "test_vectors", "parity"])
def test_mutated_entries_are_refused_or_read_but_nothing_else(path: Path, content: bytes, entry: str) -> None:
    """One letter changed and the file sealed again: the seal stops none of these."""
    rng, letters = np.random.default_rng(2), '0123456789eE.+-"[]{}:,nulltruefalseNaN\u00e9 '
    text = metadata(path)[f"solo12.{entry}"]
    refused = 0
    for _ in range(60):
        place, letter = int(rng.integers(0, len(text))), letters[rng.integers(0, len(letters))]
        path.write_bytes(content)
        with_texts(path, **{entry: text[:place] + letter + text[place + 1 :]})
        try:
            Bundle(path)
        except BundleError:
            refused += 1
    assert refused > 0


# --- Weights -------------------------------------------------------------------------------------


def with_number(path: Path, name: str, place: int, number: float) -> Path:
    """The bundle with one number of its weights changed, sealed again."""

    def spoil(model: onnx.ModelProto) -> None:
        tensor = next(tensor for tensor in model.graph.initializer if tensor.name == name)
        array = numpy_helper.to_array(tensor).copy()
        array.reshape(-1)[place % array.size] = number
        tensor.CopyFrom(numpy_helper.from_array(array, name))

    return spoiled(path, spoil)


@pytest.mark.parametrize("build", [skill_policy, masked_policy, lambda: skill_policy(squashed=True)])
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, build: Callable) -> None:
    """In every layer, for every skill: no activation hides a NaN."""
    path = write(tmp_path / "skills.onnx", build())
    good, rng = path.read_bytes(), np.random.default_rng(3)
    tensors = [
        (t.name, int(np.prod(t.dims))) for t in onnx.load(path).graph.initializer if t.name not in ("one", "minus_one")
    ]
    assert len(tensors) >= 14
    for name, size in tensors:
        for place in rng.integers(0, size, 6).tolist():
            path.write_bytes(good)
            message = refusal(with_number(path, name, place, float("nan")))
            assert "test vectors come out " in message, (name, place)


def test_a_number_added_to_an_output_is_seen(path: Path) -> None:
    """What the way from action to joint target adds is part of the check."""
    assert "off, allowed" in refusal(with_number(path, "default_pose", 3, 0.7))


def test_a_pose_that_is_infinite_is_refused(path: Path) -> None:
    """The clamp of joint targets would make it a number again."""
    assert "off, allowed" in refusal(with_number(path, "default_pose", 3, float("inf")))


def renamed(name: str) -> Callable[[onnx.ModelProto], None]:
    """Gives an input or output of the graph another name."""

    def spoil(model: onnx.ModelProto) -> None:
        for end in (*model.graph.input, *model.graph.output):
            end.name = "other" if end.name == name else end.name
        for node in model.graph.node:
            node.input[:] = ["other" if word == name else word for word in node.input]
            node.output[:] = ["other" if word == name else word for word in node.output]

    return spoil


@pytest.mark.parametrize("name", ["observation", "skill", "action", "joint_target"])
def test_a_graph_with_other_names_is_refused(path: Path, name: str) -> None:
    """Found and expected are named."""
    message = refusal(spoiled(path, renamed(name)))
    found, expected = message.split(", its contract of ")
    assert "'other'" in found
    assert f"'{name}'" in expected


def test_a_graph_with_its_outputs_swapped_is_refused(path: Path) -> None:
    """Actions would be taken for joint targets."""

    def spoil(model: onnx.ModelProto) -> None:
        ends = list(model.graph.output)[::-1]
        del model.graph.output[:]
        model.graph.output.extend(ends)

    assert "its graph is of" in refusal(spoiled(path, spoil))


# --- What it needs -------------------------------------------------------------------------------


def test_loading_a_bundle_needs_numpy_and_onnxruntime_alone(path: Path) -> None:
    """A robot's computer has little else: nothing heavy is imported, by the module or by its use."""
    heavy = {"torch", "onnx", "h5py", "mujoco", "pybullet", "yaml", "rich", "tyro", "deploy"}
    program = (
        "import sys; from pathlib import Path; from solo_doi.policies.bundle import Bundle\n"
        f"print(sorted({heavy!r} & set(sys.modules)), 'onnxruntime' in sys.modules)\n"
        f"Bundle(Path({str(path)!r}))\n"
        f"print(sorted({heavy!r} & set(sys.modules)), 'onnxruntime' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert result.stdout.splitlines() == ["[] False", "[] True"]
    assert result.stderr == ""


def test_without_onnxruntime_it_is_said_how_to_get_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one line."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingPackageError, match=r"needs the package 'onnxruntime'.*pip install 'solo-doi\[robot\]'"):
        Bundle(path)


def test_a_contract_of_another_key_order_is_read(path: Path) -> None:
    """What is sorted is what is written; a reader does not mind."""
    text = metadata(path)["solo12.contract"]
    turned = json.dumps(dict(reversed(json.loads(text).items())))
    assert canonical(json.loads(turned)) == text
    assert Bundle(with_texts(path, contract=turned)).contract.canonical() == text


def test_one_observation_is_answered_like_a_batch(path: Path) -> None:
    """By another way through onnxruntime; answers are the caller's to keep."""
    bundle, rng = Bundle(path), np.random.default_rng(3)
    kept = []
    for number in range(10):
        observation, skill = rng.standard_normal(bundle.observation_size).astype(np.float32), number % SKILLS
        found, expected = bundle.run_one(observation, skill), bundle.run(observation[None], np.array([skill]))
        np.testing.assert_array_equal(found, [part[0] for part in expected])
        kept.append((found, [part[0] for part in expected]))
    for found, expected in kept:
        np.testing.assert_array_equal(found, expected)
    for skill in (-1, SKILLS):
        with pytest.raises(BundleError, match=f"Skill {skill} does not exist"):
            bundle.run_one(np.zeros(bundle.observation_size, np.float32), skill)
