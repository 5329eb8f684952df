"""solo-export: write, show, verify, compare and describe bundles."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro

from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text
from solo_doi.export.model_card import model_card
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import find_bundle
from solo_doi.policies.bundle.signature import sign, write_key_pair

HELP = """usage: solo-export RUN [--out FILE]      write the skills of a run of solo-train as one .onnx file
       solo-export CHECKPOINT.pt [--out FILE]    the same for a DOMiNiC checkpoint
                                         (--task NAME if it has no config.yaml beside it)
       solo-export show FILE             print the contract
       solo-export verify FILE...        check hash, contract and test vectors; exit code 1 if one fails
       solo-export diff FILE FILE        print where two contracts differ
       solo-export card FILE             write a model card beside the file
       solo-export keygen KEY            draw a key to sign with, and KEY.pub to trust
       solo-export sign KEY FILE...      sign bundles; `solo-deploy --trust KEY.pub` runs no others

FILE to show, verify, compare or describe may be the name of a bundle of the package, such as locomotion."""


@dataclass(frozen=True, kw_only=True)
class ExportCommand:
    """Write the skills of a run, or of a checkpoint, as one .onnx file."""

    source: Annotated[Path, tyro.conf.Positional]
    """Run of solo-train, or checkpoint of solo-pretrain."""
    out: Path | None = None
    """File to write; by default skills.onnx in the run, or CHECKPOINT.onnx beside the checkpoint."""
    task: str | None = None
    """Task of a checkpoint that lies outside its run: locomotion or navigation. Runs record theirs."""


def main() -> None:
    """Run the command; errors the user can mend are one line."""
    words = sys.argv[1:]
    if not words or "-h" in words or "--help" in words:
        print(HELP)
        sys.exit(0 if words else 1)
    with one_line("solo-export"):
        if words[0] in ACTIONS:
            paths = [Path(word) for word in words[1:]]
            _check_count(words[0], paths)
            ACTIONS[words[0]](paths)
        else:
            export(tyro.cli(ExportCommand, prog="solo-export"))


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
    return bundle.path


def show(paths: list[Path]) -> None:
    """Print the contract of a bundle."""
    print(json.dumps(asdict(Bundle(find_bundle(paths[0])).contract), indent=1))


def verify(paths: list[Path]) -> None:
    """Load every bundle as a robot would; tell of all before failing."""
    bad = []
    for path in paths:
        try:
            print(f"{path}: {Bundle(find_bundle(path)).hash[:12]} good")
        except SoloError as error:
            bad.append(str(error))
    if bad:
        raise SoloError("\n".join(bad))


def diff(paths: list[Path]) -> None:
    """Print where two contracts differ."""
    one, two = (asdict(Bundle(find_bundle(path)).contract) for path in paths)
    for name in one:
        if one[name] != two[name]:
            print(f"{name}:\n  {one[name]}\n  {two[name]}")


def card(paths: list[Path]) -> None:
    """Write a model card beside a bundle, or into the current folder if it comes with the package."""
    path = paths[0].with_suffix(".md")
    write_text(path, model_card(Bundle(find_bundle(paths[0])), paths[0].stem))
    print(path)


def keygen(paths: list[Path]) -> None:
    """Draw a pair of keys."""
    print(f"{paths[0]}: keep it secret. {write_key_pair(paths[0])}: give it to robots.")


def sign_all(paths: list[Path]) -> None:
    """Check bundles, then sign them."""
    key, *bundles = paths
    for path in bundles:
        Bundle(path)
        print(sign(path, key))


ACTIONS = {
    "show": show, "verify": verify, "diff": diff, "card": card, "keygen": keygen, "sign": sign_all,
}  # fmt: skip


def _check_count(action: str, paths: list[Path]) -> None:
    if action == "sign" and len(paths) < 2:
        raise SoloError(
            f"sign takes a key and one or more bundles, found {len(paths)} file(s); see --help."
        )
    expected = {"show": 1, "card": 1, "diff": 2, "keygen": 1}.get(action)
    if not paths or (expected is not None and len(paths) != expected):
        raise SoloError(
            f"{action} takes {expected or 'one or more'} file(s), found {len(paths)}; see --help."
        )
