"""The report page: self-contained, with escaped text, readable on a phone."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from solo_doi.evaluate.report.html_report import Report, format_value
from tests.evaluate.browser import PHONE, on_a_phone

DATA = "data:image/png;base64,"
EMBEDDED = re.compile(r"data:image/(png|webp);base64,[A-Za-z0-9+/=]*")


class Page(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, path: Path) -> None:
        """Read a page."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Record text."""
        self.texts.append(data)

    def count(self, tag: str) -> int:
        """Return the number of occurrences of a tag."""
        return sum(name == tag for name, _ in self.tags)


def assert_self_contained(path: Path) -> None:
    """Check that a page has no links and loads no other files."""
    for _, attributes in Page(path).tags:
        assert not attributes.keys() & {"href", "srcset", "action", "poster", "data"}
        assert EMBEDDED.match(attributes.get("src") or DATA)
    rest = EMBEDDED.sub("", path.read_text())
    assert not re.search(r"https?:|file:|//|url\(|@import|\.(png|svg|css|js)\b", rest)


def picture(path: Path, width: int = 900) -> Path:
    """A picture that is wider than a phone's screen."""
    plt.imsave(path, np.random.default_rng(0).random((20, width, 3)))
    return path


def write_example(folder: Path, title: str = "Skills of a run") -> Path:
    """Write a page with every kind of content."""
    report = Report(title)
    report.heading("Diversity")
    report.text("A paragraph.")
    report.table([{"": "skill 0", "vx": 1.0}, {"": "expert", "vx": None}])
    report.figure(picture(folder / "figure.png"), "What is seen.")
    report.write(folder / "report.html")
    return folder / "report.html"


def test_a_page_is_one_file(tmp_path: Path) -> None:
    """The picture is embedded byte by byte, without references to other files."""
    path = write_example(tmp_path)
    assert_self_contained(path)
    ((_, image),) = [tag for tag in Page(path).tags if tag[0] == "img"]
    assert (
        base64.b64decode((image["src"] or "").removeprefix(DATA))
        == (tmp_path / "figure.png").read_bytes()
    )
    assert image["alt"] == "What is seen."


def test_a_link_in_a_page_would_be_found(tmp_path: Path) -> None:
    """This shows that the test above can fail."""
    for part in (
        '<a href="x">',
        '<img src="figure.png">',
        "<style>a { background: url(x) }</style>",
        "http://x",
    ):
        (tmp_path / "page.html").write_text(f"<html>{part}</html>")
        with pytest.raises(AssertionError):
            assert_self_contained(tmp_path / "page.html")


def test_a_page_says_how_it_is_to_be_read(tmp_path: Path) -> None:
    """The page declares UTF-8, the width of the screen and English."""
    page = Page(write_example(tmp_path))
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]
    assert {"charset": "utf-8"} in metas
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert ("html", {"lang": "en"}) in page.tags


def test_text_is_text(tmp_path: Path) -> None:
    """Markup in names is escaped in titles, paragraphs, captions and tables."""
    name = "<b>\"bold\" & 'brave'</b>"
    report = Report(name)
    report.heading(name)
    report.text(name)
    report.table([{name: name}])
    report.figure(picture(tmp_path / "figure.png"), name)
    report.write(tmp_path / "report.html")
    page = Page(tmp_path / "report.html")
    assert page.count("b") == 0
    assert (
        page.texts.count(name) == 7
    )  # title twice, heading, text, header and cell of the table, caption
    assert [attributes["alt"] for tag, attributes in page.tags if tag == "img"] == [name]


def test_tables_have_a_row_per_row_and_scroll_by_themselves(tmp_path: Path) -> None:
    """Columns are those of the first row; a missing value is an empty cell."""
    page = Page(write_example(tmp_path))
    assert (page.count("tr"), page.count("th"), page.count("td")) == (3, 2, 4)
    names = [tag for tag, _ in page.tags]
    assert page.tags[names.index("table") - 1] == ("div", {"class": "wide"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.123"),
        (1.0, "1"),
        (99.96, "100"),
        (123.456, "123"),
        (-250.0, "-250"),
        (0.00012345, "0.000123"),
        (np.float64(2.5), "2.5"),
        (2.2e-16, "0"),
        (-1e-15, "0"),
        (7, "7"),
        ("word", "word"),
        (None, ""),
        ([0, 2], "[0, 2]"),
    ],
)
def test_cells_show_three_digits(value: object, text: str) -> None:
    """Floats are rounded; other values are shown unchanged."""
    assert format_value(value) == text


# --- On a phone ----------------------------------------------------------------------------------


def test_a_page_fits_a_phone(tmp_path: Path) -> None:
    """A table of forty columns, a picture of 3000 pixels and a name of two hundred letters fit."""
    long = "skill" * 40
    report = Report(long)
    report.heading(long)
    report.text(long)
    report.table([{f"column {number}": 0.12345 for number in range(40)}])
    report.figure(picture(tmp_path / "figure.png", width=3000), long)
    report.write(tmp_path / "report.html")
    found = on_a_phone(tmp_path / "report.html", tmp_path / "browser")
    assert found["width"] == PHONE
    assert found["content"] <= PHONE
    ((natural, shown),) = found["pictures"]
    assert natural == 3000
    assert 300 < shown <= PHONE
    assert found["captions"] == [long]


def test_a_page_that_does_not_fit_is_noticed(tmp_path: Path) -> None:
    """A picture that does not load is detected as well."""
    (tmp_path / "page.html").write_text(
        '<div style="width: 600px">wide</div><img src="nowhere.png">'
    )
    found = on_a_phone(tmp_path / "page.html", tmp_path / "browser")
    assert found["content"] >= 600
    assert found["pictures"][0][0] == 0
