"""solo-export: write, show, verify, compare and describe bundles."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from solo_doi.common.command_line import Command, Program, Verb
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text
from solo_doi.common.steps import show_next

if TYPE_CHECKING:
    from solo_doi.policies.bundle.reader import Bundle


@dataclass(frozen=True, kw_only=True)
class ExportCommand:
    """Write the skills of a run, or of a checkpoint, as one .onnx file.

    Examples:
      solo-export runs/NAME                             skills of a run of solo-train
      solo-export checkpoints/model_600.pt --out FILE   skills of a DOMiNiC checkpoint
    """

    source: Annotated[Path, tyro.conf.Positional]
    """Run of solo-train, or checkpoint of solo-pretrain."""
    out: Path | None = None
    """File to write; skills.onnx in the run, or CHECKPOINT.onnx, by default."""
    task: str | None = None
    """Task of a checkpoint without a run directory: locomotion or navigation."""


@dataclass(frozen=True)
class FileCommand:
    """Argument of all commands that read one bundle."""

    file: Annotated[Path, tyro.conf.Positional]
    """Bundle, or the name of one that comes with the package, such as locomotion."""


@dataclass(frozen=True)
class ShowCommand(FileCommand):
    """Print the contract of a bundle.

    Example: solo-export show locomotion
    """


@dataclass(frozen=True)
class CardCommand(FileCommand):
    """Write a model card beside a bundle.

    Example: solo-export card runs/NAME/skills.onnx
    """


@dataclass(frozen=True)
class VerifyCommand:
    """Check hash, contract and test vectors of bundles. The exit code is 1 if one fails.

    Example: solo-export verify runs/NAME/skills.onnx
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Bundles, or names of those that come with the package."""


@dataclass(frozen=True)
class DiffCommand:
    """Print where the contracts of two bundles differ.

    Example: solo-export diff locomotion runs/NAME/skills.onnx
    """

    first: Annotated[Path, tyro.conf.Positional]
    """Bundle."""
    second: Annotated[Path, tyro.conf.Positional]
    """Bundle to compare with."""


@dataclass(frozen=True)
class KeygenCommand:
    """Generate a key pair: KEY to sign bundles with, and KEY.pub for robots that trust them.

    Example: solo-export keygen sign.key
    """

    key: Annotated[Path, tyro.conf.Positional]
    """File of the secret key. Must not exist."""


@dataclass(frozen=True)
class SignCommand:
    """Sign bundles; `solo-deploy --trust KEY.pub` refuses all others.

    Example: solo-export sign sign.key runs/NAME/skills.onnx
    """

    key: Annotated[Path, tyro.conf.Positional]
    """Secret key that `solo-export keygen` wrote."""
    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Bundles to sign."""


def main() -> None:
    """Run solo-export; errors that the user can correct are one line."""
    with one_line("solo-export"):
        PROGRAM.run()


def export(command: ExportCommand) -> Path:
    """Write a bundle, load it as a robot would, and return its path."""
    from solo_doi.export.export_bundle import export_bundle

    bundle = export_bundle(command.source, command.out, task=command.task)
    kilobytes = bundle.path.stat().st_size / 1024
    difference = bundle.parity["largest_difference"]
    print(
        f"{bundle.path}: {bundle.num_skills} skills, {kilobytes:.0f} kB, "
        f"graph within {difference:.1e} of the policy"
    )
    show_next(f"solo-deploy --bundle {bundle.path} --robot pybullet --headless --fast")
    return bundle.path


def show(command: ShowCommand) -> None:
    """Print the contract of a bundle."""
    print(json.dumps(asdict(_load(command.file).contract), indent=1))


def verify(command: VerifyCommand) -> None:
    """Load every bundle as a robot would; report all errors together."""
    _check_some(command.files, "verify")
    bad = []
    for path in command.files:
        try:
            print(f"{path}: {_load(path).hash[:12]} good")
        except SoloError as error:
            bad.append(str(error))
    if bad:
        raise SoloError("\n".join(bad))


def diff(command: DiffCommand) -> None:
    """Print where two contracts differ."""
    one = asdict(_load(command.first).contract)
    two = asdict(_load(command.second).contract)
    for name in one:
        if one[name] != two[name]:
            print(f"{name}:\n  {one[name]}\n  {two[name]}")


def card(command: CardCommand) -> None:
    """Write a model card beside a bundle; that of a shipped one into the current directory."""
    from solo_doi.export.model_card import model_card

    path = command.file.with_suffix(".md")
    write_text(path, model_card(_load(command.file), command.file.stem))
    print(path)


def keygen(command: KeygenCommand) -> None:
    """Generate a key pair and write it."""
    from solo_doi.policies.bundle.signature import write_key_pair

    print(f"{command.key}: keep it secret. {write_key_pair(command.key)}: give it to robots.")


def sign_all(command: SignCommand) -> None:
    """Check bundles, then sign them."""
    from solo_doi.policies.bundle.reader import Bundle
    from solo_doi.policies.bundle.signature import sign

    _check_some(command.files, "sign")
    for path in command.files:
        Bundle(path)
        print(sign(path, command.key))


def _load(file: Path) -> Bundle:
    """Load a bundle by its path or by its name in the package."""
    from solo_doi.policies.bundle.reader import Bundle  # heavy imports
    from solo_doi.policies.bundle.shipped import find_bundle

    return Bundle(find_bundle(file))


def _check_some(files: tuple[Path, ...], verb: str) -> None:
    if not files:
        raise SoloError(f"{verb} takes one or more bundles, found none; see --help.")


PROGRAM = Program(
    "solo-export",
    lambda: Command(ExportCommand, export),
    (
        Verb("show", "Print the contract of a bundle.", lambda: Command(ShowCommand, show)),
        Verb("verify", "Check bundles as a robot does.", lambda: Command(VerifyCommand, verify)),
        Verb("diff", "Compare two contracts.", lambda: Command(DiffCommand, diff)),
        Verb("card", "Write a model card.", lambda: Command(CardCommand, card)),
        Verb("keygen", "Draw a key to sign with.", lambda: Command(KeygenCommand, keygen)),
        Verb("sign", "Sign bundles.", lambda: Command(SignCommand, sign_all)),
    ),
    takes_paths=True,
    needs_arguments=True,
)
