"""The controller's process: who of it is urgent, and who must not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy import control as module
from deploy.config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.control import PRIORITY, control
from deploy.messages.auth import write_key
from deploy.shipped import SHIPPED
from solo_doi import config as configuration


class StoppedError(Exception):
    """Ends the controller once its loop was made."""


@pytest.mark.parametrize("operator", ["script", "keyboard"])
def test_what_reads_messages_is_urgent_and_what_writes_logs_is_not(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads and processes inherit urgency from who starts them: the first subscription starts LCM's reader."""
    order: list[object] = []

    class Recorder:
        def __init__(self, *_: object) -> None:
            order.append("recorder")

    class Link:
        def __init__(self, *_: object) -> None:
            """Join."""

        def subscribe(self, channel: str, _: object) -> None:
            order.append(channel)

    class Loop:
        def __init__(self, _: object, link: Link, *__: object) -> None:
            link.subscribe("SOLO_STATE", None)
            raise StoppedError

    for double in (Recorder, Link, Loop):
        monkeypatch.setattr(module, double.__name__, double)
    monkeypatch.setattr(module, "prepare", order.append)
    monkeypatch.setattr(module, "rehearse", lambda bundle: order.append(bundle.path))
    write_key(tmp_path / KEY_FILE)
    configuration.write(DeployConfig(operator=operator), tmp_path / CONFIG_FILE)  # type: ignore[arg-type]
    with pytest.raises(StoppedError):
        control(tmp_path)
    heard = ["SOLO_STATE"] if operator == "script" else ["SOLO_OPERATOR", "SOLO_STATE"]
    assert order == [SHIPPED, "recorder", PRIORITY, *heard]
