"""Errors of solo-deploy: one line each, before any motion."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deploy.cli import deploy as cli
from deploy.launch import supervisor
from solo_doi.export.writer import write_bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.solo12.observation import LAYOUTS
from tests.policies.bundles import EVALUATED, masked_policy, skill_policy, write


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if a process is started, because an expected error was missing."""

    def start(*_: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(supervisor, "_start_robot", start)
    monkeypatch.delenv("DISPLAY", raising=False)


def refusal(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """Return the error line of the command."""
    monkeypatch.setattr(sys, "argv", ["solo-deploy", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    return err


NO_CARD = (
    "--robot real needs --interface, its master board's network card. Interfaces here: enp5s0, lo. "
    "Before a first walk, read deploy/docs/first_walk.md and do it once with --robot virtual."
)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--robot", "real"],
            NO_CARD,
        ),
        (
            ["--robot", "real", "--interface", "e0", "--calibration", "c.json", "--fast"],
            "--fast is for simulated robots; hardware runs in real time.",
        ),
        (
            ["--robot", "real", "--interface", "e0", "--calibration", "nowhere.json"],
            "nowhere.json: this robot was never calibrated. Run: solo-deploy calibrate "
            "--interface CARD",
        ),
        (["--robot", "real", "--readonly"], NO_CARD),
        (["--robot", "real", "--check"], NO_CARD),
        (["--robot", "virtual", "--readonly", "--check"], "--check and --readonly exclude each "
        "other."),
        (["--mock", "--check"], "--robot mock: only real and virtual have a master board. Choose "
        "one of them."),
        (
            ["--robot", "virtual", "--readonly", "--seconds", "0"],
            "--seconds 0: expected a time above 0.",
        ),
        (
            ["calibrate", "--interface", "e0", "--out", "/dev/null"],
            "/dev/null: exists already. Choose another --out, or replace it with --force.",
        ),
        (
            ["calibrate", "--robot", "virtual", "--out", "/proc/c.json", "--yes"],
            "/proc/c.json: cannot be written (No such file or directory). Choose another place.",
        ),
        (
            ["calibrate", "--interface", "e0", "--out", "c.json", "--yes"],
            "--yes is for --robot virtual: a real robot needs a person at every step.",
        ),
        (
            ["calibrate", "--robot", "virtual", "--out", "c.json"],
            "calibrate asks questions, and needs a terminal for the answers.",
        ),
        (["calibrate", "--out", "c.json"], NO_CARD),
        (["--headless", "--skill", "9"], f"Skill 9 does not exist: {SHIPPED} has skills 0 to 4."),
        (["--headless", "--skill", "-1"], f"Skill -1 does not exist: {SHIPPED} has skills 0 to 4."),
        (["--headless", "--then", "1", "7"],
        f"Skill 7 does not exist: {SHIPPED} has skills 0 to 4."),
        (["--mock", "--seconds", "0"], "--seconds 0: expected a time above 0."),
        (["--mock", "--seconds", "nan"], "--seconds nan: expected a time above 0."),
        (["--mock", "--seconds", "inf"], "--seconds inf: expected a time above 0."),
        (
            ["--mock", "--controller.stop-seconds", "0"],
            "--controller.stop-seconds 0: expected a finite number above 0. The default is 0.8.",
        ),
        (
            ["--mock", "--controller.safety.operator-age", "nan"],
            "--controller.safety.operator-age nan: this value would disable the check or make it "
            "always fail. Expected a finite number of 0 or more. The default is 0.5.",
        ),
        (["--mock", "--seed", "-1"], "--seed -1: expected 0 or more."),
        (["--mock", "--url", "udpm://239.255.76.67:99999?ttl=0"], "--url "
        "udpm://239.255.76.67:99999?ttl=0: expected udpm://ADDRESS:PORT?ttl=0 with a multicast "
        "address (224.0.0.0 to 239.255.255.255) and a port from 1 to 65535, such as "
        "udpm://239.255.76.67:7667?ttl=0."),
        (["--mock", "--fast", "--realtime"], "--realtime and --fast exclude each other."),
        (["--mock", "--fast", "--operator", "keyboard"], "--operator keyboard needs real time, "
        "not --fast."),
        (
            ["--mock", "--fast", "--readonly"],
            "--readonly needs real time, not --fast: in lock-step the robot waits for commands.",
        ),
        (
            ["--mock", "--velocity", "1", "0", "0"],
            f"{SHIPPED}: its skills know one command only, (1.0, 0.0, 0.0). Leave out --velocity, "
            f"or use a bundle of "
            "a steerable policy.",
        ),
        (["--mock", "--bundle", "/none.onnx"], "/none.onnx: no such file. Expected a bundle "
        "written by solo-export."),
        (["keygen", "/none/key"], "/none/key: cannot be written (No such file or directory). "
        "Choose another file."),
        (["--mock", "--key", "/none"], "/none: cannot be read (No such file or directory). Draw a "
        "key with: "
         "solo-deploy keygen"),
        (["--mock", "--out", "/proc/none"], "/proc/none: cannot be made (No such file or "
        "directory). Choose another "
         "--out."),
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused(
    arguments: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The line contains the value found and the remedy.

    No process starts and no file is written.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.if_nameindex", lambda: [(1, "lo"), (2, "enp5s0")])
    assert refusal(arguments, monkeypatch, capsys) == f"solo-deploy: {words}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_keygen_has_help(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help is not an error, and no key is written."""
    monkeypatch.setattr(sys, "argv", ["solo-deploy", "keygen", word])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("usage: solo-deploy keygen [-h] PATH\n")


def test_keygen_needs_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line describes the file."""
    monkeypatch.setattr(sys, "argv", ["solo-deploy", "keygen"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        "solo-deploy keygen: Missing from solo-deploy keygen: PATH File to write. Must not exist. "
        "(required). See solo-deploy keygen --help.\n"
    )


def test_an_existing_folder_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The folder contains the log of an earlier run."""
    words = refusal(["--mock", "--out", str(tmp_path)], monkeypatch, capsys)
    assert words == f"solo-deploy: {tmp_path}: exists already. Choose another --out.\n"


def test_a_rejected_skill_needs_force(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The evaluation decides for all skills, unless the operator overrides it with `--force`."""
    bundle = str(write(tmp_path / "b.onnx"))
    expected = (
        "solo-deploy: Skill 1 was rejected by its evaluation. Selected: 0, 2. Walk with it even "
        "so: --force\n"
    )
    for skills in (["--skill", "1"], ["--then", "1"]):
        assert refusal(["--mock", "--bundle", bundle, *skills], monkeypatch, capsys) == expected
    rated = tmp_path / "rated.onnx"
    write_bundle(
        skill_policy(),
        "locomotion",
        rated,
        {},
        tuple(entry | {"success": 0.42} for entry in EVALUATED),
    )
    words = refusal(["--mock", "--bundle", str(rated), "--skill", "1"], monkeypatch, capsys)
    assert "was rejected by its evaluation (success 42%)." in words


def test_force_walks_with_a_rejected_skill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With --force the same command gets as far as starting the robot."""
    arguments = ["--mock", "--bundle", str(write(tmp_path / "b.onnx")), "--skill", "1", "--force"]
    monkeypatch.setattr(sys, "argv", ["solo-deploy", *arguments, "--out", str(tmp_path / "run")])
    with pytest.raises(AssertionError, match="a process was started"):
        cli.main()


def test_a_bundle_that_needs_a_height_map_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """This robot has no height sensor."""
    bundle = tmp_path / "n.onnx"
    write_bundle(
        masked_policy(size=LAYOUTS["navigation"].size),
        "navigation",
        bundle,
        {},
        (),
    )
    words = refusal(["--mock", "--bundle", str(bundle)], monkeypatch, capsys)
    assert (
        words
        == f"solo-deploy: {bundle}: made for navigation, which needs a height map; this robot has "
        f"none.\n"
    )


def test_the_help_names_runs_that_need_not_walk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exit code of 0 must not be misread as a successful walk."""
    monkeypatch.setattr(sys, "argv", ["solo-deploy", "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    words = " ".join(capsys.readouterr().out.split())
    assert "The exit code is 0 if there was no fault and the robot walked." in words
    assert "Walking is not checked with --mock, with --readonly" in words


@pytest.mark.parametrize("name", ["a folder", "[bold]"])
def test_folders_are_named_as_they_are(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Brackets in a path are not markup."""
    monkeypatch.setattr(sys, "argv", ["solo-deploy", "--mock", "--out", str(tmp_path / name)])
    with pytest.raises(AssertionError):
        cli.main()
    assert name in capsys.readouterr().out.replace("\n", "")
