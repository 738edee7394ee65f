"""The files by which any client finds the demo fleet: a kubeconfig and a Docker context store."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import yaml


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where one target answers. ``kind``: kubernetes or docker; ``url`` is http, tcp or unix; ``token`` for kubernetes."""

    name: str
    kind: str
    url: str
    token: str = ""

    @property
    def socket(self) -> Path | None:
        """The unix socket of a docker endpoint that has one."""
        return Path(self.url.removeprefix("unix://")) if self.url.startswith("unix://") else None


def write_kubeconfig(path: Path, endpoints: list[Endpoint]) -> None:
    """One context, cluster and user for each kubernetes endpoint; readable only by its owner, for it holds tokens."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": endpoints[0].name if endpoints else "",
        "clusters": [{"name": entry.name, "cluster": {"server": entry.url}} for entry in endpoints],
        "users": [{"name": entry.name, "user": {"token": entry.token}} for entry in endpoints],
        "contexts": [{"name": entry.name, "context": {"cluster": entry.name, "user": entry.name}} for entry in endpoints],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def write_docker_contexts(folder: Path, endpoints: list[Endpoint]) -> None:
    """A Docker configuration folder whose context store has each docker endpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}\n", encoding="utf-8")
    for entry in endpoints:
        digest = hashlib.sha256(entry.name.encode()).hexdigest()
        place = folder / "contexts" / "meta" / digest
        place.mkdir(parents=True, exist_ok=True)
        meta = {
            "Name": entry.name,
            "Metadata": {"Description": "a simulated engine"},
            "Endpoints": {"docker": {"Host": entry.url, "SkipTLSVerify": False}},
        }
        (place / "meta.json").write_bytes(msgspec.json.encode(meta))
