"""Signatures of bundles (Ed25519): a signature names the holder of a key as the exporter."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.common.files import reason, write_text
from solo_doi.common.untrusted import read_bounded

from .contract import LARGEST_BUNDLE, BundleError

SUFFIX = ".sig"
"""The signature of skills.onnx is skills.onnx.sig, beside it."""


def write_key_pair(path: Path) -> Path:
    """Write a new private key, readable by this user only, and KEY.pub beside it.

    Return KEY.pub.
    """
    serialization, ed25519 = _library()
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise SoloError(
            f"{path}: cannot be written ({reason(error)}). Choose another file."
        ) from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(private)
    trusted = path.with_name(path.name + ".pub")
    write_text(trusted, public.decode())
    return trusted


def sign(bundle: Path, key: Path) -> Path:
    """Write the signature of a bundle beside it; return its path."""
    serialization, ed25519 = _library()
    private = _read(key, lambda data: serialization.load_pem_private_key(data, password=None))
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise SoloError(f"{key}: not a key to sign with. Draw one with: solo-export keygen FILE")
    path = bundle.with_name(bundle.name + SUFFIX)
    write_text(path, private.sign(_bytes(bundle)).hex() + "\n")
    return path


def check_signature(bundle: Path, trusted: Path) -> bytes:
    """Return the bytes of a bundle if the holder of a trusted key has signed them.

    Raises:
        SoloError: The bundle is not signed, was changed since, or was signed with another key.
    """
    serialization, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    public = _read(trusted, serialization.load_pem_public_key)
    if not isinstance(public, ed25519.Ed25519PublicKey):
        raise SoloError(
            f"{trusted}: not a key to trust. Name the .pub file of: solo-export keygen FILE"
        )
    path = bundle.with_name(bundle.name + SUFFIX)
    if not path.is_file():
        raise BundleError(
            f"{bundle}: not signed, {path.name} is missing. "
            f"Sign it with: solo-export sign KEY {bundle}"
        )
    content = _bytes(bundle)
    try:
        public.verify(bytes.fromhex(_bytes(path).decode().strip()), content)
    except (InvalidSignature, ValueError) as error:
        raise BundleError(
            f"{bundle}: not signed by the holder of {trusted}. Do not run it."
        ) from error
    return content


def _bytes(path: Path) -> bytes:
    try:
        return read_bounded(path, LARGEST_BUNDLE)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({reason(error)}).") from error


def _read(path: Path, parse: Callable[[bytes], object]) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return parse(read_bounded(path))
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SoloError(f"{path}: not a key that can be read ({reason(error)}).") from error


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise MissingPackageError(
            "cryptography", "Signing bundles", "pip install 'solo-doi[robot]'"
        ) from error
    return serialization, ed25519
