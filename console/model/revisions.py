"""The strings by which controllers publish what they have, and the commit inside.

Formats: ``main@sha1:<hex>`` (Flux 2; absolute names like ``refs/heads/main@sha1:<hex>`` too), ``main/<hex>`` (older Flux),
``latest@sha256:<hex>`` (OCI), the bare hash (Argo CD), a version (Helm).
"""

from __future__ import annotations

import re

_HEX = re.compile(r"[0-9a-fA-F]{7,64}")


def commit_of(revision: str) -> str:
    """The commit or digest in a published revision, lower-case hex; the revision itself when there is none in it."""
    head, colon, tail = revision.rpartition(":")
    if colon and head.rpartition("@")[2] in ("sha1", "sha256") and _HEX.fullmatch(tail):
        return tail.lower()
    tail = revision.rpartition("/")[2]
    return tail.lower() if _HEX.fullmatch(tail) else revision
