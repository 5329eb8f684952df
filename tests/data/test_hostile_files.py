"""Corpus of hostile files: names outside the folder, links, outside storage, impossible sizes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from collect.dataset_repair import repair, verify
from collect.merge_parts import merge_parts
from solo_doi.common import untrusted
from solo_doi.common.errors import SoloError
from solo_doi.common.untrusted import (
    UntrustedFileError,
    check_bare_name,
    check_no_links,
    check_plain_file,
    open_hdf5,
    read_bounded,
)
from solo_doi.data.d4rl import read_d4rl
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import MANIFEST_FILE, Manifest, ShardEntry
from solo_doi.data.minari import is_minari_file, read_minari
from solo_doi.data.shard import file_hash, write_shard
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run import load_run
from solo_doi.runs.train_run import resume_run

from .datasets import made_up_arrays, made_up_manifest

HOSTILE_NAMES = (
    "../outside.h5", "../../x.py", "/etc/passwd", "a/b.h5", "..", ".", "", "a\0b", "a\nb", "a\\b",
    "x" * 256, "é" * 200, None, 7, ["a"], "\x1b[2J.h5",
)  # fmt: skip


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Return a folder with a good dataset of one shard."""
    folder = tmp_path / "dataset"
    arrays = made_up_arrays(np.random.default_rng(1), [3, 4])
    write_shard(folder / "shard-00000.h5", arrays)
    entry = ShardEntry("shard-00000.h5", 2, 7, file_hash(folder / "shard-00000.h5"))
    made_up_manifest([entry]).write(folder)
    return folder


def rename_shard(folder: Path, name: object) -> None:
    """Let the manifest name another file."""
    content = json.loads((folder / MANIFEST_FILE).read_text())
    content["shards"][0]["file"] = name
    (folder / MANIFEST_FILE).write_text(json.dumps(content))


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_manifests_name_bare_files_only(name: object, dataset: Path) -> None:
    """All commands read the manifest, so none leaves the folder."""
    rename_shard(dataset, name)
    with pytest.raises(UntrustedFileError, match="Expected a bare file name") as refused:
        Dataset(dataset)
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_repair_leaves_files_outside_alone(dataset: Path, tmp_path: Path) -> None:
    """A file that an absolute or relative name points to keeps its name and content."""
    victim = tmp_path / "victim.h5"
    victim.write_text("precious")
    for name in (str(victim), "../victim.h5"):
        rename_shard(dataset, name)
        for command in (repair, verify):
            with pytest.raises(UntrustedFileError, match="bare file name"):
                command(dataset)
    assert victim.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dataset", "victim.h5"]


def test_merge_writes_nothing_outside(dataset: Path, tmp_path: Path) -> None:
    """A part with a path for a name is refused before anything is made."""
    part = tmp_path / "part"
    part.mkdir()
    for name in ("offline", "expert", "coverage"):
        (part / name).mkdir(exist_ok=True)
        (part / name / MANIFEST_FILE).write_text((dataset / MANIFEST_FILE).read_text())
        rename_shard(part / name, "../../x.py")
    with pytest.raises(SoloError):
        merge_parts(tmp_path / "out", (part,))
    assert not list(tmp_path.rglob("x.py"))


@pytest.mark.parametrize("command", [Dataset, verify, repair])
def test_a_link_is_no_shard(command: Callable[[Path], object], dataset: Path) -> None:
    """Its target could be any file of this computer."""
    shard = dataset / "shard-00000.h5"
    shard.rename(dataset.parent / "elsewhere.h5")
    shard.symlink_to(dataset.parent / "elsewhere.h5")
    with pytest.raises(UntrustedFileError, match=r"is a link\. Expected a plain file"):
        command(dataset)
    assert (dataset.parent / "elsewhere.h5").is_file()


def test_a_pipe_is_no_shard(dataset: Path) -> None:
    """Reading a pipe would wait for ever."""
    (dataset / "shard-00000.h5").unlink()
    os.mkfifo(dataset / "shard-00000.h5")
    with pytest.raises(UntrustedFileError, match="not a plain file"):
        Dataset(dataset)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "not valid JSON"),
        ('{"format": ' + "1" * 5000 + "}", "not valid JSON"),
        ("\x00\x01", "not valid JSON"),
        ("7", "not the manifest"),
    ],
)
def test_hostile_manifests_are_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    """Deep nesting and long numbers included."""
    (tmp_path / MANIFEST_FILE).write_text(text)
    with pytest.raises(SoloError, match=words) as refused:
        Manifest.read(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("dtype", "shape"), [("|O", (4,)), ("<U9", (4,)), ("<f4", (-1,)), ("<f4", (10**30,))]
)
def test_fields_hold_numbers_of_possible_shapes(
    dtype: str, shape: tuple[int, ...], dataset: Path
) -> None:
    """Objects in a memory map would be addresses of this process."""
    manifest = Manifest.read(dataset)
    first, *others = manifest.fields
    replace(manifest, fields=(replace(first, dtype=dtype, shape=shape), *others)).write(dataset)
    with pytest.raises(SoloError, match=f"{first.name} (is|has)"):
        Dataset(dataset)


@pytest.mark.parametrize("count", [-1, 2.5, True, "7", 10**30])
def test_counts_are_possible(count: object, dataset: Path) -> None:
    """The number of transitions decides how much memory is needed."""
    content = json.loads((dataset / MANIFEST_FILE).read_text())
    content["shards"][0]["transitions"] = count
    (dataset / MANIFEST_FILE).write_text(json.dumps(content))
    with pytest.raises(SoloError, match="transitions of a shard is"):
        Manifest.read(dataset)


def soft_link(file: h5py.File) -> None:
    """Add a link inside the file."""
    file["observations"] = h5py.SoftLink("/other")


def external_link(file: h5py.File) -> None:
    """Add a link to an array of another file."""
    file["observations"] = h5py.ExternalLink("/etc/passwd", "/x")


def nested_link(file: h5py.File) -> None:
    """Add such a link below a group."""
    file.create_group("episode_0")["observations"] = h5py.ExternalLink("other.h5", "/x")


def external_storage(file: h5py.File) -> None:
    """Keep the numbers of an array in another file."""
    file.create_dataset("observations", (4, 4), "u1", external=[("/etc/passwd", 0, 16)])


def virtual(file: h5py.File) -> None:
    """Compose an array of parts in other files."""
    layout = h5py.VirtualLayout((4,), "u1")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (4,))
    file.create_virtual_dataset("observations", layout)


def bomb(file: h5py.File) -> None:
    """Announce more numbers than any memory holds."""
    file.create_dataset("observations", (10**12, 100), "f8", chunks=(1000, 100))


CORPUS = (soft_link, external_link, nested_link, external_storage, virtual, bomb)


@pytest.mark.parametrize("spoil", CORPUS)
@pytest.mark.parametrize("read", [read_d4rl, read_minari, SkillPolicy.read])
def test_hdf5_files_keep_their_data_inside(
    spoil: Callable[[h5py.File], None], read: Callable[[Path], object], tmp_path: Path
) -> None:
    """Every reader refuses every file of the corpus in one line."""
    path = tmp_path / "main_data.hdf5"
    with h5py.File(path, "w") as file:
        file.attrs["version"] = 1
        spoil(file)
    words = r"(Expected all data inside the file|need .* GB of memory)"
    with pytest.raises(UntrustedFileError, match=words) as refused:
        read(path)
    assert "\n" not in str(refused.value)
    assert not is_minari_file(path)


@pytest.mark.parametrize("spoil", CORPUS)
def test_shards_keep_their_data_inside(spoil: Callable[[h5py.File], None], dataset: Path) -> None:
    """One hostile array beside good ones is enough."""
    with h5py.File(dataset / "shard-00000.h5", "a") as file:
        del file["observations"]
        spoil(file)
    with pytest.raises(UntrustedFileError):
        Dataset(dataset)


def test_a_circle_of_groups_is_read_once(tmp_path: Path) -> None:
    """A group that contains itself does not keep the reader busy for ever."""
    path = tmp_path / "circle.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("a")
        group["b"] = group
        group["array"] = np.arange(3)
    with open_hdf5(path) as file:
        assert file["a/b/b/array"][2] == 2


def test_the_number_of_objects_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file can hold many empty groups."""
    monkeypatch.setattr(untrusted, "MOST_OBJECTS", 10)
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as file:
        for number in range(11):
            file.create_group(str(number))
    with pytest.raises(UntrustedFileError, match="more than 10 arrays"), open_hdf5(path):
        pass


def test_a_file_is_read_up_to_a_bound(tmp_path: Path) -> None:
    """An endless or huge file is refused."""
    path = tmp_path / "text"
    path.write_bytes(bytes(11))
    assert read_bounded(path, 11) == bytes(11)
    with pytest.raises(UntrustedFileError, match="larger than"):
        read_bounded(path, 10)


@pytest.mark.parametrize("name", ["metrics.jsonl", "updates/loss", "evaluation"])
def test_a_run_has_no_links_inside(name: str, tmp_path: Path) -> None:
    """Training appends to files of a run, and an evaluation writes into its folders."""
    run, victim = tmp_path / "run", tmp_path / "victim"
    (run / name).parent.mkdir(parents=True)
    (run / "config.yaml").write_text("seed: 1\n")
    victim.write_text("precious")
    (run / name).symlink_to(victim)
    words = r"is a link\. A run may not have links"
    with pytest.raises(UntrustedFileError, match=words):
        load_run(run)
    with pytest.raises(UntrustedFileError, match=words):
        resume_run(run, make_log=lambda *_: None)  # type: ignore[arg-type, return-value]
    assert victim.read_text() == "precious"


def test_a_run_may_be_reached_by_a_link(tmp_path: Path) -> None:
    """The user who names the run made that link."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("seed: 1\n")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    check_no_links(tmp_path / "link")


def test_ordinary_names_and_files_pass(tmp_path: Path) -> None:
    """A missing file is reported by its reader."""
    assert check_bare_name("shard-00000.h5", tmp_path) == "shard-00000.h5"
    (tmp_path / "file").touch()
    check_plain_file(tmp_path / "file")
    check_plain_file(tmp_path / "missing")
