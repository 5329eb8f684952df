"""A page as a phone shows it, measured in headless Chromium."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

PHONE = 390
"""Width of the screen [CSS pixels]."""
MEASURE = """<script>
addEventListener("load", () => parent.postMessage(JSON.stringify({
  width: innerWidth,
  content: document.documentElement.scrollWidth,
  captions: [...document.querySelectorAll("figure")].map(figure => figure.innerText),
  pictures: [...document.images].map(image => [image.naturalWidth, image.clientWidth]),
  markup: document.querySelectorAll("b, script").length - 1,
}), "*"));
</script>"""
# A window of Chromium cannot be as narrow as a phone; a frame can. Answers come by message, since
# pages from files have no access to each other.
WRAPPER = """<!doctype html><html><body><pre id="answer"></pre><script>
addEventListener("message", event => {{
  document.getElementById("answer").textContent = event.data;
}});
</script><iframe src="page.html" style="border: 0; width: {width}px; height: 844px"></iframe>
</body></html>"""


def on_a_phone(page: Path, folder: Path, width: int = PHONE) -> dict[str, Any]:
    """Return widths of window, content and pictures of a page, and its captions.

    Skip the test without Chromium.
    """
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs the program chromium (on Debian: apt install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "page.html").write_text(page.read_text() + MEASURE)
    (folder / "wrapper.html").write_text(WRAPPER.format(width=width))
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=800,900",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        (folder / "wrapper.html").resolve().as_uri(),
    ]
    dump = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    answer = re.search(r'<pre id="answer">(.+?)</pre>', dump, re.DOTALL)
    assert answer is not None, dump[:1000]
    return json.loads(html.unescape(answer[1]))
