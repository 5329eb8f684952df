"""The page of a deployment in a real browser, with the real processes behind it."""

from __future__ import annotations

import lzma
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from deploy.common.faults import Cause
from deploy.common.state_machine import ControllerState
from deploy.launch.viewer_launch import VIEW_VARIABLE
from deploy.messages.lcm_link import STATE_CHANNEL, STATUS_CHANNEL
from tests.command import SOLO_DEPLOY
from tests.deploy.console.page.chromium import BROWSER_TIMEOUT, Chromium, Tab
from tests.deploy.deployment import Deployment

RECORDED = Path(__file__).parents[2] / "compatibility" / "files" / "deployment"
PATIENT = (
    "--controller.safety.state-age",
    "5",
    "--controller.safety.operator-age",
    "5",
    "--controller.safety.bad-share",
    "1000",
    "--controller.safety.gap-share",
    "1000",
)
"""Thresholds at which a busy machine causes few faults; those that remain are re-armed."""
PAGE_FROM_ELSEWHERE = """new Promise(done => {{
  const socket = new WebSocket("ws://127.0.0.1:{port}/{path}");
  socket.onopen = () => {{ socket.send("stop"); done("open"); }};
  socket.onerror = () => done("refused");
}})"""


def reach(tab: Tab, deployment: Deployment, selector: str, state: ControllerState) -> None:
    """Click a button until the controller is in a state; re-arm after a fault of a busy machine."""

    def click() -> None:
        now = tab.evaluate("page.snapshot.state")
        button = "[data-request=rearm]" if now in ("FAULT", "DAMP") else selector
        if tab.evaluate(f"!document.querySelector({button!r}).disabled"):
            tab.click(button)
        time.sleep(0.1)

    tab.wait(f"page.snapshot && page.snapshot.state == {state.name!r}", click)
    deployment.listen_until_state(state)


def walk_with(tab: Tab, deployment: Deployment, skill: int) -> None:
    """Walk with a skill, from any state."""
    deadline = time.monotonic() + BROWSER_TIMEOUT
    while True:
        reach(tab, deployment, "[data-request=stand]", ControllerState.READY)
        tab.click(f"[data-skill='{skill}']")
        while not deployment.is_in(ControllerState.FAULT):
            deployment.listen(lambda heard: True)
            status = deployment.heard[STATUS_CHANNEL]
            if (status.state, status.skill) == (ControllerState.WALK, skill):
                return
            deployment._ear.handle_timeout(100)
            assert time.monotonic() < deadline, "the skill button did nothing"


def press_stop(tab: Tab, deployment: Deployment, how: str) -> int:
    """Stop by mouse or key; return the fault that the robot process itself reports."""
    if how == "click":
        tab.click("#stop")
    else:
        tab.press(how)
    deployment.listen(lambda heard: heard[STATE_CHANNEL].fault != 0)
    return deployment.heard[STATE_CHANNEL].fault


def test_a_browser_drives_switches_skills_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One long test, since processes and browser take seconds to start.

    Without the view in three dimensions, which a computer without a graphics card draws slowly.
    """
    monkeypatch.setenv(VIEW_VARIABLE, "0")
    out = tmp_path / "run"
    with (
        Deployment(out, "--mock", "--operator", "page", *PATIENT) as deployment,
        Chromium(tmp_path / "profile") as browser,
    ):
        link = page_link(deployment)
        driver, watcher, stranger = (browser.tab() for _ in range(3))
        driver.open(link)
        driver.wait("page.role == 'driver'")
        watcher.open(link)
        watcher.wait("page.role == 'watcher'")
        stranger.open(link.partition("#")[0])
        stranger.wait("document.body.innerText.includes('no valid token')")
        assert refused_elsewhere(browser.tab(), link)
        driver.call("Page.bringToFront")  # browsers slow down pages in the background

        walk_with(driver, deployment, 1)
        driver.wait(
            "place('motors').textContent.includes('follow skill 1') && "
            "new Set(page.history.map(sample => sample.position[2])).size > 5",
            lambda: deployment.is_in(ControllerState.FAULT) and walk_with(driver, deployment, 1),
        )
        assert watcher.evaluate("document.querySelector(\"[data-skill='1']\").disabled")
        driver.click("[data-skill='3']")  # while walking
        driver.wait(
            "place('motors').textContent.includes('follow skill 3')",
            lambda: deployment.is_in(ControllerState.FAULT) and walk_with(driver, deployment, 3),
        )
        deployment.listen(lambda heard: heard[STATUS_CHANNEL].skill == 3)

        causes = []
        for count, (tab, how) in enumerate(
            ((watcher, " "), (driver, "click"), (stranger, "Escape")), start=1
        ):
            causes.append(press_stop(tab, deployment, how))
            driver.wait("['DAMP', 'FAULT'].includes(page.snapshot.state)")
            log = (out / "page.log").read_text()
            assert log.count("pressed on the page") == count
            reach(driver, deployment, "[data-request=stand]", ControllerState.READY)

        assert Cause.OPERATOR_STOP in causes  # a busy machine may cause others just before
        assert driver.errors == watcher.errors == []
        assert driver.evaluate("document.documentElement.scrollWidth <= innerWidth")
        stale_page_is_marked(driver, deployment)
        driver.wait("page.ended", lambda: driver.click("[data-request=quit]"))
        deployment.finish()
    assert deployment.summary["ended"] in ("stopped", "done")


def page_link(deployment: Deployment) -> str:
    """Return the address that the command prints."""
    assert deployment._process.stdout is not None
    for line in deployment._process.stdout:
        if line.startswith("page: "):
            return line.split()[1]
    raise AssertionError("no link was printed")


def refused_elsewhere(tab: Tab, link: str) -> bool:
    """Return True if a page of another origin can open no connection."""
    port = int(link.split(":")[2].partition("/")[0])
    paths = ("socket", "stop")
    answers = [tab.evaluate(PAGE_FROM_ELSEWHERE.format(port=port, path=path)) for path in paths]
    return answers == ["refused"] * len(paths)


def stale_page_is_marked(tab: Tab, deployment: Deployment) -> None:
    """Halt the server: the page must say that its picture is old, and recover."""
    os.kill(deployment.pid, signal.SIGSTOP)
    try:
        tab.wait("!place('stale').hidden && document.body.classList.contains('stale')")
        assert "power switch" in tab.text("stale")
    finally:
        os.kill(deployment.pid, signal.SIGCONT)
    tab.wait("place('stale').hidden")


def test_a_recording_is_played_in_a_browser(tmp_path: Path) -> None:
    folder = tmp_path / "deploy-1"
    shutil.copytree(RECORDED, folder)
    (folder / "log.lcm").write_bytes(lzma.decompress((folder / "log.lcm.xz").read_bytes()))
    server = subprocess.Popen(
        [*SOLO_DEPLOY, "view", str(folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        link = server.stdout.readline().split()[1]
        with Chromium(tmp_path / "profile") as browser:
            tab = browser.tab()
            tab.open(link)
            tab.wait("page.hello && place('seek').value > 2")  # it plays
            tab.evaluate("place('seek').value = place('seek').max; place('seek').oninput()")
            assert tab.text("title") == "Solo12: deploy-1"
            assert tab.text("play") == "Play"
            assert tab.evaluate("place('stop').hidden && place('drive').hidden")
            assert tab.evaluate("place('margins').children.length") >= 5
            assert tab.errors == []
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
        server.stdout.close()  # type: ignore[union-attr]  # a pipe
    assert server.returncode == 130
