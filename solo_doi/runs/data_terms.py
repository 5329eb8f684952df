"""Names of the columns of foreign data, from a file.

```yaml
terms: {linear_velocity: 3, gravity: 3, joint_position: 12, joint_velocity: 12}
joint_names: [FL_HAA, FL_HFE]
expert:            # only if the expert's data have other columns
  terms: {linear_velocity: 3, gravity: 3}
```
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.common.settings import load

if TYPE_CHECKING:
    from solo_doi.data.labels import Labels

KEYS = ("terms", "joint_names")


def read_terms(path: Path | None) -> tuple[Labels | None, Labels | None]:
    """Return the names of coverage data and of the expert's data; None without a file.

    Raises:
        SoloError: The file is malformed.
    """
    if path is None:
        return None, None
    content = dict(load(path))
    expert = content.pop("expert", None)
    names = _names(path, content)
    if expert is None:
        return names, names
    return names, _names(path, expert)


def _names(path: Path, content: Any) -> Labels:  # noqa: ANN401  # of any YAML
    from solo_doi.data.labels import Labels

    if not isinstance(content, dict) or not isinstance(content.get("terms"), dict):
        raise SoloError(f"{path}: expected `terms` with names and sizes in the order of columns.")
    for name in content:
        if name not in KEYS:
            raise SoloError(f"{path}: {UnknownNameError('key', name, (*KEYS, 'expert'))}")
    terms = content["terms"]
    joints = content.get("joint_names", [])
    for name, size in terms.items():
        if not isinstance(name, str) or type(size) is not int or size < 1:
            raise SoloError(f"{path}: term {name!r} has size {size!r}, expected 1 or more.")
    if not isinstance(joints, list) or not all(isinstance(name, str) for name in joints):
        raise SoloError(f"{path}: joint_names are {joints!r:.80}, expected a list of names.")
    return Labels("", terms, tuple(joints))
