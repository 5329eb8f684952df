"""solo-export: write, show, verify, compare and describe bundles."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import reason, write_text
from solo_doi.policies.bundle.contract import digest, parse_json
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import find_bundle
from solo_doi.policies.bundle.signature import sign, write_key_pair

HELP = """usage: solo-export RUN [--out FILE]      write the skills of a run of solo-train as one .onnx file
       solo-export CHECKPOINT.pt [--out FILE]    the same for a DOMiNiC checkpoint
       solo-export show FILE             print the contract
       solo-export verify FILE...        check hash, contract and test vectors; exit code 1 if one fails
       solo-export diff FILE FILE        print where two contracts differ
       solo-export card FILE             write a model card beside the file
       solo-export keygen KEY            draw a key to sign with, and KEY.pub to trust
       solo-export sign KEY FILE...      sign bundles; `solo-deploy --trust KEY.pub` runs no others

FILE to show, verify, compare or describe may be the name of a bundle of the package, such as locomotion."""

FRONT_MATTER = (
    "---", "library_name: solo-doi", "pipeline_tag: robotics", "tags: [reinforcement-learning, solo12, onnx]", "---",
)  # fmt: skip
"""What model hubs read."""
METRICS = Path("evaluation", "metrics.json")
"""What solo-eval leaves in a run."""


@dataclass(frozen=True, kw_only=True)
class ExportCommand:
    """Write the skills of a run, or of a checkpoint, as one .onnx file."""

    source: Annotated[Path, tyro.conf.Positional]
    """Run of solo-train, or checkpoint of solo-pretrain."""
    out: Path | None = None
    """File to write; by default skills.onnx in the run, or CHECKPOINT.onnx beside the checkpoint."""


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
    from solo_doi.export.velocity_commands import of_run
    from solo_doi.export.writer import write_bundle
    from solo_doi.policies.dominic_checkpoint import read_policy
    from solo_doi.policies.skill_policy import SkillPolicy

    source = command.source
    if source.suffix == ".pt":
        out = command.out or source.with_suffix(".onnx")
        difference = write_bundle(
            read_policy(source), out, {"checkpoint": source.name}, (), of_run(source)
        )
    else:
        if not source.is_dir():
            found = "not a directory" if source.exists() else "no such directory"
            raise SoloError(f"{source}: {found}. Expected a run of solo-train or a .pt checkpoint.")
        out = command.out or source / "skills.onnx"
        policy = SkillPolicy.read(source / "policy.h5")
        difference = write_bundle(policy, out, _made_from(source), evaluated(source))
    bundle = Bundle(out)
    size = f"{bundle.num_skills} skills, {out.stat().st_size / 1024:.0f} kB"
    print(f"{out}: {size}, graph within {difference:.1e} of the policy")
    return out


def evaluated(run: Path) -> tuple[dict[str, Any], ...]:
    """What solo-eval found of every skill, and whether it was selected; nothing if it was not run."""
    path = run / METRICS
    if not path.is_file():
        return ()
    metrics = _read_json(path)
    found, expected = (
        metrics.get("made_from", {}).get("policy"),
        digest((run / "policy.h5").read_bytes()),
    )
    if found != expected:
        raise SoloError(
            f"{path}: is about another policy ({str(found)[:12]} for {expected[:12]}). Evaluate the run again."
        )
    names = ("return_pct", "vx", "falls", "success", "height_mean", "clearance", "frequency")
    try:
        chosen = metrics.get("selected")
        return tuple(
            {
                "skill": skill["skill"],
                "selected": None if chosen is None else skill["skill"] in chosen,
            }
            | {name: skill[name] for name in names}
            for skill in metrics["skills"]
        )
    except (KeyError, TypeError) as error:
        raise SoloError(
            f"{path}: not written by solo-eval ({error}). Evaluate the run again."
        ) from error


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
    """Write a model card beside a bundle; here, if it is one of the package."""
    bundle = Bundle(find_bundle(paths[0]))
    contract = bundle.contract
    lines = [
        *FRONT_MATTER, "", f"# {paths[0].stem}", "",
        f"{bundle.num_skills} {contract.task} skills for Solo12 in one ONNX file, SHA-256 `{bundle.hash}`.", "",
        f"Observation ({sum(term['size'] for term in contract.observation)} numbers, SI units, base frame): "
        + ", ".join(term["name"] for term in contract.observation) + ".",
        f"Joint targets at {1 / contract.control_dt:.0f} Hz, kp {contract.kp:g} N m/rad, kd {contract.kd:g} N m s/rad.",
        "",
    ]  # fmt: skip
    if contract.skills:
        first = ("skill", "selected")
        names = [
            *first,
            *(name for name in contract.skills[0] if name not in first),
        ]  # which JSON has sorted
        lines += ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        lines += [
            "| " + " | ".join(_cell(skill.get(name)) for name in names) + " |"
            for skill in contract.skills
        ]
        if rule := contract.made_from.get("selection"):
            lines += ["", f"Selected skills have {rule}."]
    else:
        lines += ["Its skills have not been evaluated."]
    path = paths[0].with_suffix(".md")
    write_text(path, "\n".join(lines) + "\n")
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


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _made_from(run: Path) -> dict[str, Any]:
    path = run / "provenance.json"
    known = {"run": run.resolve().name} | (_read_json(path) if path.is_file() else {})
    return known | ({"selection": rule} if (rule := _rule(run / METRICS)) else {})


def _rule(path: Path) -> str | None:
    """By what skills were selected, as solo-eval says it; nothing if it did not."""
    selection = (_read_json(path) if path.is_file() else {}).get("selection")
    try:
        return None if selection is None else str(selection["rule"])
    except (KeyError, TypeError) as error:
        raise SoloError(
            f"{path}: not written by solo-eval ({error}). Evaluate the run again."
        ) from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path.read_text())
    except (OSError, ValueError) as error:
        raise SoloError(
            f"{path}: cannot be read ({reason(error)}). Remove it, or make it again."
        ) from error
    if not isinstance(content, dict):
        raise SoloError(f"{path}: holds a {type(content).__name__}, expected a dictionary.")
    return content
