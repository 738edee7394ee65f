"""Custom resource definitions from Go modules: fetched once by version, kept in the harness's cache.

Standard library only, so that `prepare` runs before anything is installed.
"""

import os
import shutil
from pathlib import Path

from tests.real.binaries import cache, download

MODULES = {
    "github.com/fluxcd/source-controller": ("v1.9.6", "config/crd/bases/*.yaml"),
    "github.com/fluxcd/kustomize-controller": ("v1.9.6", "config/crd/bases/*.yaml"),
    "github.com/argoproj/argo-cd/v3": ("v3.4.13", "manifests/crds/app*-crd.yaml"),
}
"""Go modules, their versions and where their definitions lie."""

_UNWANTED = {"applicationset-crd.yaml"}  # 1.5 MB, and the console does not read it


def fetch() -> list[Path]:
    """The definition files of all modules, copied into the cache on first use. Raises `NotFetched`."""
    files = []
    for module, (version, pattern) in MODULES.items():
        folder = cache() / "crds" / f"{module.replace('/', '-')}-{version}"
        if not folder.exists():
            _copy(module, version, pattern, folder)
        files += sorted(folder.glob("*.yaml"))
    return files


def _copy(module: str, version: str, pattern: str, folder: Path) -> None:
    source = download(module, version)
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    draft.mkdir(parents=True, exist_ok=True)
    for file in source.glob(pattern):
        if file.name not in _UNWANTED:
            shutil.copyfile(file, draft / file.name)
    try:
        draft.rename(folder)
    except OSError:  # another run was faster
        shutil.rmtree(draft)
