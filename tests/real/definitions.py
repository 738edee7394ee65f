"""Custom resource definitions for a fleet: Flux's and Argo CD's own files from their Go modules, and ours in `crds/`.

Flux's HelmRelease is among ours, cut to what a console reads: its module can't be fetched everywhere.
"""

from pathlib import Path
from typing import Any

import yaml

from tests.real import modules

_OWN = Path(__file__).resolve().parent / "crds"


def own() -> list[dict[str, Any]]:
    """Our definitions: GitOps Reverser's resources and HelmRelease."""
    return _load(sorted(_OWN.glob("*.yaml")))


def flux_and_argo() -> list[dict[str, Any]]:
    """The definitions of Flux's sources and Kustomization, and of Argo CD's Application and AppProject. Raises `NotFetched`."""
    return _load(modules.fetch())


def argo() -> list[dict[str, Any]]:
    """The definitions of Argo CD's Application and AppProject alone. Raises `NotFetched`."""
    return [definition for definition in flux_and_argo() if definition["spec"]["group"] == "argoproj.io"]


def _load(files: list[Path]) -> list[dict[str, Any]]:
    # The C loader where there is one: Argo CD's Application alone is 400 kB.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [yaml.load(file.read_text(), Loader=loader) for file in files]  # both are safe loaders
