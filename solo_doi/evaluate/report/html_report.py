"""Report as one HTML file with all tables and figures inside."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from solo_doi.common.files import write_text

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 60rem;
  padding: 0 1rem 3rem; color: #222; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
figure { margin: 0 0 1rem; } img { max-width: 100%; height: auto; }
figcaption { color: #666; font-size: .85rem; }
.verdict { background: #f2f6f2; border-left: 4px solid #2a7; font-size: 1.05rem;
  padding: .6rem 1rem; } .verdict li { margin: .2rem 0; }
dl { color: #666; } dt { font-weight: bold; } dd { margin: 0 0 .3rem 1rem; }
dd.value { color: #222; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } .note { color: #666; }
"""


ROUNDING = 1e-12
"""Smaller numbers are rounding errors and shown as zero."""


class Report:
    """Builder of a report: add parts in order, then write."""

    def __init__(self, title: str) -> None:
        """Start a report with a title."""
        self._title = html.escape(title)
        self._parts: list[str] = [f"<h1>{self._title}</h1>"]

    def heading(self, text: str) -> None:
        """Add a heading."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f'<p class="note">{html.escape(text)}</p>')

    def verdict(self, sentences: Sequence[str]) -> None:
        """Add the most important sentences, set off from the rest."""
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
        self._parts.append(f'<ul class="verdict">{items}</ul>')

    def explanations(self, meanings: Mapping[str, str]) -> None:
        """Add terms with their meanings."""
        entries = ""
        for term, meaning in meanings.items():
            entries += f"<dt>{html.escape(term)}</dt><dd>{html.escape(meaning)}</dd>"
        self._parts.append(f"<dl>{entries}</dl>")

    def facts(self, rows: Iterable[tuple[str, object, str]]) -> None:
        """Add measures, each with its value and its meaning below it."""
        entries = ""
        for name, value, meaning in rows:
            shown = html.escape(format_value(value))
            entries += f"<dt>{html.escape(name)}</dt><dd class=value>{shown}</dd>"
            entries += f"<dd>{html.escape(meaning)}</dd>"
        self._parts.append(f"<dl>{entries}</dl>")

    def table(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add a table with the columns of its first row. A wide table scrolls sideways."""
        head = _cells("th", rows[0])
        body = ""
        for row in rows:
            body += f"<tr>{_cells('td', row.values())}</tr>"
        self._parts.append(
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def figure(self, picture: Path, caption: str) -> None:
        """Add a PNG picture or a WebP animation, embedded in the file."""
        kind = picture.suffix.removeprefix(".")
        data = base64.b64encode(picture.read_bytes()).decode()
        self._parts.append(
            f'<figure><img alt="{html.escape(caption)}" src="data:image/{kind};base64,{data}">'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        )

    def write(self, path: Path) -> None:
        """Write the file."""
        parts = "\n".join(self._parts)
        head = (
            '<meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{self._title}</title><style>{STYLE}</style>"
        )
        write_text(
            path,
            f'<!doctype html><html lang="en"><head>{head}</head><body>\n{parts}\n</body></html>\n',
        )


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(f"<{tag}>{html.escape(format_value(value))}</{tag}>" for value in values)


def format_value(value: object) -> str:
    """Return the text of a table cell: floats with three digits, nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    if abs(value) < ROUNDING:
        value = 0.0
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"
