"""Names that travel with data in other formats: task, observation terms and joints.

They are one attribute of the HDF5 file, or one entry of a JSON file, which other programs ignore.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from solo_doi.common.untrusted import open_hdf5

from .shard import DataError
from .transitions import Transitions

LABELS_ATTRIBUTE = "solo_doi_labels"
FOREIGN_TERM = "observation"
"""Name of the only observation term of data without named terms."""


@dataclass(frozen=True)
class Labels:
    """Names of the columns of observations and actions, and of the task."""

    task: str = ""
    """Task that the data were collected for; empty if unknown."""
    terms: dict[str, int] = field(default_factory=dict)
    """Sizes of the observation terms, in the order of the columns."""
    joint_names: tuple[str, ...] = ()
    """Joints in the order of actions; empty if unknown."""

    @classmethod
    def of(cls, data: Transitions, task: str) -> Self:
        """Return the names of transitions in memory."""
        terms = {name: columns.stop - columns.start for name, columns in data.terms.items()}
        return cls(task, terms, data.joint_names)

    @classmethod
    def read(cls, path: Path, attributes: Mapping[str, Any]) -> Self:
        """Return the names in the attributes of a file; none if it was not written here.

        Raises:
            DataError: The attribute is damaged.
        """
        text = attributes.get(LABELS_ATTRIBUTE)
        if text is None:
            return cls()
        try:
            content = json.loads(text)
        except (ValueError, TypeError) as error:
            raise _damaged(path) from error
        return cls.from_content(path, content)

    @classmethod
    def from_content(cls, path: Path, content: Any) -> Self:  # noqa: ANN401  # of any JSON
        """Return the names in JSON content that `content` wrote.

        Raises:
            DataError: It is damaged.
        """
        try:
            terms = {str(name): int(size) for name, size in content["terms"].items()}
            return cls(str(content["task"]), terms, tuple(map(str, content["joint_names"])))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _damaged(path) from error

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Return the names in an HDF5 file; none if it cannot be read, which its reader reports."""
        try:
            with open_hdf5(path) as file:
                return cls.read(path, file.attrs)
        except Exception:  # h5py raises many types for damaged bytes
            return cls()

    def attributes(self) -> dict[str, str]:
        """Return the attributes to write to a file."""
        return {LABELS_ATTRIBUTE: json.dumps(self.content())}

    def content(self) -> dict[str, Any]:
        """Return the names as JSON content."""
        return {"task": self.task, "terms": self.terms, "joint_names": list(self.joint_names)}

    def columns(self, path: Path, width: int) -> dict[str, slice]:
        """Return the columns of every term in observations of a width; one term without names.

        Raises:
            DataError: The terms do not cover the observations.
        """
        if not self.terms:
            return {FOREIGN_TERM: slice(0, width)}
        found = {}
        end = 0
        for name, size in self.terms.items():
            found[name] = slice(end, end + size)
            end += size
        if end != width or min(self.terms.values()) < 1:
            raise DataError(
                f"{path}: its {LABELS_ATTRIBUTE} name {end} numbers, observations have {width}."
            )
        return found


def _damaged(path: Path) -> DataError:
    return DataError(
        f"{path}: its attribute {LABELS_ATTRIBUTE} is damaged. Remove it, or export the "
        "dataset again with `solo-collect export`."
    )
