"""The public Python API: small, typed, and light to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import solo_doi
from solo_doi import api
from solo_doi.policies.skill_policy import SkillPolicy
from tests.algorithm.runs import ROWS, assert_same_run, summary_of, tiny, write_made_up_task

HEAVY = ("torch", "numpy", "h5py", "mujoco", "onnxruntime", "tensorboard", "rich", "yaml")


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working directory with datasets of the locomotion task."""
    monkeypatch.chdir(write_made_up_task(tmp_path))
    return Path("datasets/locomotion")


def test_every_public_name_is_there() -> None:
    """Each name resolves to a function of the API module; all of these functions are public."""
    for name in solo_doi.__all__:
        assert getattr(solo_doi, name) is not None
    functions = {
        name
        for name, value in vars(api).items()
        if callable(value) and getattr(value, "__module__", "") == api.__name__ and name[0] != "_"
    }
    assert functions <= set(solo_doi.__all__)
    assert set(solo_doi.__all__) <= set(dir(solo_doi))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = solo_doi.nothing


def test_the_import_is_light() -> None:
    """A robot computer has no torch, and a command line should start at once."""
    program = f"import sys, solo_doi; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_a_run_from_python_equals_one_of_the_command(datasets: Path) -> None:
    """Paths and data in memory give the same weights and a complete run directory."""
    read = solo_doi.train(
        f"{datasets}/coverage", f"{datasets}/demonstrations", out="read", config=tiny(),
        progress=False,
    )  # fmt: skip
    data = solo_doi.load_dataset(f"{datasets}/coverage")
    assert len(data) == ROWS
    expert = solo_doi.load_dataset(datasets / "demonstrations")
    given = solo_doi.train(data, expert, out="given", config=tiny(), progress=False)
    default = solo_doi.train(out="default", config=tiny(), progress=False)
    assert_same_run(read.path, given.path)
    assert_same_run(read.path, default.path)
    assert given.files.config.is_file()
    assert given.provenance["data"] == read.provenance["data"]


def test_a_loaded_run_has_its_results(datasets: Path) -> None:
    """Configuration, summary, metrics and policies can be loaded from any run directory."""
    made = solo_doi.train(out="run", config=tiny(eps=1.5), progress=False)
    run = solo_doi.load_run("run")
    assert run == made
    assert run.finished
    assert run.config.eps == 1.5
    assert run.summary == summary_of(Path("run"))
    assert [line["outer"] for line in run.metrics] == [1, 2, 3, 4]
    assert isinstance(run.policy, SkillPolicy)
    assert run.policy.num_skills == 3
    assert run.expert is not None
    assert run.expert.num_skills == 1


def test_a_stopped_run_is_resumed(datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is resumed from files or with its original data; other data are refused."""
    unbroken = solo_doi.train(out="unbroken", config=tiny(), progress=False)
    data, expert = (
        solo_doi.load_dataset(datasets / name) for name in ("coverage", "demonstrations")
    )
    run = solo_doi.train(data, expert, out="run", config=tiny(), progress=False)
    run.files.summary.unlink()
    with pytest.raises(solo_doi.SoloError, match="training has not finished"):
        _ = solo_doi.load_run("run").summary
    with pytest.raises(solo_doi.SoloError, match="began with other data"):
        solo_doi.resume("run", expert, expert, progress=False)
    assert_same_run(unbroken.path, solo_doi.resume("run", data, expert, progress=False).path)


def test_data_in_memory_need_an_expert(datasets: Path) -> None:
    """A fingerprint of the default dataset would not describe the data in memory."""
    data = solo_doi.load_dataset(datasets / "coverage")
    with pytest.raises(solo_doi.SoloError, match="need both `data` and `expert`"):
        solo_doi.train(data, out="run", config=tiny())
    assert not Path("run").exists()


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    """The error names the directory."""
    with pytest.raises(solo_doi.SoloError, match=r"no config\.yaml"):
        solo_doi.load_run(str(tmp_path))
    with pytest.raises(solo_doi.SoloError, match="no such directory"):
        solo_doi.load_run(tmp_path / "nowhere")


def test_the_shipped_bundle_walks() -> None:
    bundle = solo_doi.load_bundle("locomotion")
    with solo_doi.make_simulator("mujoco", num_robots=2) as simulator:
        task = solo_doi.make_task(simulator, seed=3)
        action = bundle.mean_action(task.observe(), 1)
        assert task.step(action).observation.shape == (2, bundle.observation_size)
