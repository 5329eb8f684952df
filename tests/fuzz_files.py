"""Spoiled files: signatures, keys, calibrations, configurations and logs.

Each is refused in one line, or is valid.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from deploy.common.deploy_config import CONFIG_FILE, DeployConfig
from deploy.logs.controller_replay import replay
from deploy.messages.authentication import KEY_SIZE, read_key
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, decode
from deploy.recorder.recorder import LOG_FILE, read_log, write_log
from deploy.robots.odri.bring_up.calibration import PITCH, Calibration, load, save
from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.policies.bundle.signature import check_signature, sign, write_key_pair

from .deploy.stage import Stage
from .spoiling import mutated, mutated_json


def _refused(action: Callable[[], object], sound: Callable[[], bool] = lambda: False) -> bool:
    """Return True if an action is refused in one line, or if its result is valid."""
    try:
        action()
    except SoloError as error:
        return "\n" not in str(error)
    return sound()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def signatures_hold(count: int, seed: int) -> int:
    """Spoil signature and trusted key in turn; return the number refused."""
    rng, good = random.Random(seed), 0
    with _folder() as folder:
        bundle, key = folder / "skills.onnx", folder / "key"
        bundle.write_bytes(SHIPPED.read_bytes()[:1000])  # the signed content does not matter
        trusted = write_key_pair(key)
        files = sign(bundle, key), trusted
        kept = [path.read_bytes() for path in files]
        meaning = _meaning(*files)
        for number in range(count):
            for path, content in zip(files, kept, strict=True):
                path.write_bytes(content)
            path, content = files[number % 2], kept[number % 2]
            spoilt = mutated(content, rng)
            path.write_bytes(spoilt)
            good += _refused(
                lambda: check_signature(bundle, trusted), lambda: _meaning(*files) == meaning
            )
    return good


def _meaning(signature: Path, trusted: Path) -> tuple[bytes, bytes]:
    """Return the meaning of both files.

    Blanks, upper or lower case, and text after the end of a key have no effect.
    """
    return bytes.fromhex(signature.read_text()), load_pem_public_key(
        trusted.read_bytes()
    ).public_bytes_raw()


def keys_hold(count: int, seed: int) -> int:
    """Spoil a secret; return the number of wrong length that were refused."""
    rng, good = random.Random(seed), 0
    with _folder() as folder:
        path = folder / "key"
        path.touch(0o600)
        for _ in range(count):
            content = mutated(bytes(KEY_SIZE), rng)
            path.write_bytes(content)
            good += _refused(lambda: read_key(path), lambda: len(path.read_bytes()) == KEY_SIZE)
    return good


def calibrations_hold(count: int, seed: int) -> int:
    """Spoil a calibration.

    Return the number refused, or read with their exact content within half a pitch.
    """
    rng, good = random.Random(seed), 0
    with _folder() as folder:
        path = folder / "calibration.json"
        save(Calibration(np.linspace(-0.3, 0.3, 12), "a4:ae:12:34:56:78", date(2026, 1, 2)), path)
        text = path.read_text()
        for _ in range(count):
            path.write_bytes(mutated_json(text, rng))
            good += _refused(lambda: load(path), lambda: _believable(path))
    return good


def _believable(path: Path) -> bool:
    before, found = json.loads(path.read_text()), load(path)
    save(found, path)
    return json.loads(path.read_text()) == before and bool(
        (np.abs(found.offset) <= PITCH / 2 + 1e-9).all()
    )


def configurations_hold(count: int, seed: int) -> int:
    """Spoil a deployment's configuration.

    Return the number refused, or written again with the same content.
    """
    rng, good = random.Random(seed), 0
    plain = json.dumps(settings.to_dict(DeployConfig(then=(1, 2), velocity=(0.5, 0.0, 0.0))))
    with _folder() as folder:
        path = folder / CONFIG_FILE
        for _ in range(count):
            path.write_bytes(mutated_json(plain, rng))
            good += _refused(
                lambda: settings.read(DeployConfig, path), lambda: _written_again(path)
            )
    return good


def _written_again(path: Path) -> bool:
    found = settings.read(DeployConfig, path)
    path.write_text(settings.to_yaml(found))
    return settings.read(DeployConfig, path) == found or "nan" in path.read_text()


def _log() -> bytes:
    """Return a log of a controller that stands up."""
    stage, events = Stage(), []
    for tick in range(12):
        stage.now_ns += 1_000_000
        state = stage.message()
        stage.controller.on_robot_state(state)
        events.append((tick, STATE_CHANNEL, state.encode()))
        events.append((tick, COMMAND_CHANNEL, stage.controller.tick(stage.now_ns).encode()))
    with _folder() as folder:
        write_log(events, folder / LOG_FILE)
        return (folder / LOG_FILE).read_bytes()


def logs_hold(count: int, seed: int) -> int:
    """Spoil a log; return the number read up to the damage."""
    rng, content, good = random.Random(seed), _log(), 0
    with _folder() as folder:
        path = folder / LOG_FILE
        for _ in range(count):
            spoilt = mutated(content, rng)
            path.write_bytes(spoilt)
            size = 0
            for _, channel, data in read_log(path):
                decode(channel, data)
                size += 28 + len(channel.encode("utf-8", "replace")) + len(data)
            good += size <= 3 * len(spoilt)  # an invalid byte becomes three
    return good


def replays_hold(count: int, seed: int) -> int:
    """Spoil a log and run the controller on it.

    Return the number refused with a reason, or run to the end.
    """
    rng, content, good = random.Random(seed), _log(), 0
    with _folder() as folder:
        (folder / CONFIG_FILE).write_text(
            settings.to_yaml(DeployConfig(bundle=folder / SHIPPED.name))
        )
        shutil.copy(SHIPPED, folder)
        for _ in range(count):
            (folder / LOG_FILE).write_bytes(mutated(content, rng))
            good += _refused(lambda: replay(folder), lambda: True)
    return good
