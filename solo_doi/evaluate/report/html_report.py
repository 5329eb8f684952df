"""One HTML file that holds everything: tables, figures, film strips."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from solo_doi.common.files import write_text

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 0 1rem 3rem; color: #222;
  overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
figure { margin: 0 0 1rem; } img { max-width: 100%; height: auto; } figcaption { color: #666; font-size: .85rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } .note { color: #666; }
"""


class Report:
    """Collects parts, then writes them."""

    def __init__(self, title: str) -> None:
        """Begin with a title."""
        self._title = html.escape(title)
        self._parts: list[str] = [f"<h1>{self._title}</h1>"]

    def heading(self, text: str) -> None:
        """Add a heading."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f'<p class="note">{html.escape(text)}</p>')

    def table(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add a table, with the columns of its first row; it scrolls by itself where it is too wide."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(show(value))}</td>" for value in row.values())
            + "</tr>"
            for row in rows
        )
        self._parts.append(
            f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def figure(self, picture: Path, caption: str) -> None:
        """Add a picture, inside the file itself."""
        data = base64.b64encode(picture.read_bytes()).decode()
        self._parts.append(
            f'<figure><img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        )

    def write(self, path: Path) -> None:
        """Write the file."""
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        parts = "\n".join(self._parts)
        page = f'<!doctype html><html lang="en"><head>{head}<title>{self._title}</title><style>{STYLE}</style></head>'
        write_text(path, f"{page}<body>\n{parts}\n</body></html>\n")


ROUNDING = 1e-12
"""What is smaller is nothing, and was computed."""


def show(value: object) -> str:
    """Return a value as a cell shows it."""
    if isinstance(value, float):
        value = 0.0 if abs(value) < ROUNDING else value
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else str(value)
