"""What tests of the deployment share."""

from __future__ import annotations

import pytest


@pytest.fixture
def same_software(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the software named in contracts the same, whoever commits meanwhile."""
    monkeypatch.setattr("deploy.export.write.software", lambda: {"commit": "0123456789ab"})
