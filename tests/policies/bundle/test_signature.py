"""Signed bundles: signer and unchanged content."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.contract import BundleError
from solo_doi.policies.bundle.signature import check_signature, sign, write_key_pair


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A file, the key it was signed with, and the key to trust."""
    bundle, key = tmp_path / "skills.onnx", tmp_path / "key"
    bundle.write_bytes(b"weights" * 100)
    trusted = write_key_pair(key)
    assert sign(bundle, key) == tmp_path / "skills.onnx.sig"
    return bundle, key, trusted


def test_a_signed_bundle_is_trusted(signed: tuple[Path, Path, Path]) -> None:
    """Only the owner can read the secret key."""
    bundle, key, trusted = signed
    check_signature(bundle, trusted)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_changed_bit_is_refused(signed: tuple[Path, Path, Path]) -> None:
    """The bit is in the bundle or in the signature."""
    bundle, _, trusted = signed
    for path in (bundle, bundle.with_name("skills.onnx.sig")):
        content = path.read_bytes()
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        with pytest.raises(BundleError, match="not signed by the holder"):
            check_signature(bundle, trusted)
        path.write_bytes(content)
    check_signature(bundle, trusted)


def test_foreign_and_missing_signatures_are_refused(
    signed: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """The error names the remedy."""
    bundle, _, trusted = signed
    other = write_key_pair(tmp_path / "other")
    with pytest.raises(BundleError, match="not signed by the holder"):
        check_signature(bundle, other)
    bundle.with_name("skills.onnx.sig").unlink()
    with pytest.raises(BundleError, match="Sign it with: solo-export sign"):
        check_signature(bundle, trusted)


def test_invalid_keys_are_refused(signed: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """The wrong key of the pair is refused as well, and a key is never overwritten."""
    bundle, key, trusted = signed
    text = tmp_path / "text"
    text.write_text("secret")
    for path in (text, tmp_path / "missing", key):
        with pytest.raises(SoloError, match="key"):
            check_signature(bundle, path)
    for path in (text, trusted):
        with pytest.raises(SoloError, match="key"):
            sign(bundle, path)
    with pytest.raises(SoloError, match="Choose another file"):
        write_key_pair(key)
