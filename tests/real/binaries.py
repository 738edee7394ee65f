"""Builds the Kubernetes servers and controllers from their Go modules, once, into a cache that outlives the checkout.

Versions are pinned in `gomod/*/go.mod` and part of the file names: a new version is built beside the old. Environment:
`QUARTERDECK_TEST_CACHE` moves the cache; `KUBEBUILDER_ASSETS` names a folder with ready binaries, used when they are there.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GOMOD = Path(__file__).resolve().parent / "gomod"


class BuildFailed(Exception):
    """A server could not be built; the message is the compiler's last output."""


class NotFetched(Exception):
    """A module could not be fetched; the message says why."""


@dataclass(frozen=True)
class Program:
    """One server: its command, the Go module that pins it (in `gomod/FOLDER`), its package, and extra linker flags.

    `lacks` is a file that the program embeds and its module leaves out: it is built in a copy of the module, where that file is
    empty and `package` is a path.
    """

    command: str
    folder: str
    module: str
    package: str
    flags: str = ""
    lacks: str = ""

    @property
    def version(self) -> str:
        """The pinned version, `v1.2.3`."""
        text = (GOMOD / self.folder / "go.mod").read_text()
        found = re.search(rf"^(?:require )?\s*{re.escape(self.module)} (v\S+)", text, re.MULTILINE)
        if not found:
            raise BuildFailed(f"{self.folder}/go.mod does not pin {self.module}")
        return found[1]

    @property
    def built(self) -> Path:
        """Where the built program is, or would be."""
        return cache() / "bin" / f"{self.command}-{self.version}"

    def find(self) -> Path | None:
        """The program ready to run: from `KUBEBUILDER_ASSETS`, else from the cache; None when it is in neither."""
        ready = os.environ.get("KUBEBUILDER_ASSETS", "")
        if ready and (path := Path(ready, self.command)).exists():
            return path
        return self.built if self.built.exists() else None


ETCD = Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3")
APISERVER = Program(
    "kube-apiserver",
    "kubernetes",
    "k8s.io/kubernetes",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    # Without these the server calls itself v0.0.0, which no real cluster does.
    "-X k8s.io/component-base/version.gitVersion={version} "
    "-X k8s.io/component-base/version.gitMajor={major} -X k8s.io/component-base/version.gitMinor={minor}",
)


KUSTOMIZE_CONTROLLER = Program(
    "kustomize-controller",
    "kustomize-controller",
    "github.com/fluxcd/kustomize-controller",
    "github.com/fluxcd/kustomize-controller",
)

ARGOCD = Program("argo-cd", "argocd", "github.com/argoproj/argo-cd/v3", ".")
"""Controller, repository server, API server and command line in one program (`gomod/argocd/main.go`), by its first argument."""

SOURCE_CONTROLLER = Program(
    "source-controller",
    "source-controller",
    "github.com/fluxcd/source-controller",
    "github.com/fluxcd/source-controller",
)

FLUX = Program(
    "flux",
    "flux",
    "github.com/fluxcd/flux2/v2",
    "./cmd/flux",
    "-X main.VERSION={version}",
    # What `flux install` would apply.
    lacks="cmd/flux/manifests/none.yaml",
)
"""Flux's command line, as its users interfere with it."""


def cache() -> Path:
    """The folder of what is built once for all runs."""
    chosen = os.environ.get("QUARTERDECK_TEST_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "quarterdeck-test"


def build(program: Program, patience: float | None = None) -> Path:
    """Build a program unless it is there; returns its path. Raises `BuildFailed`, also after `patience` seconds.

    Two builders at once do the work twice and both end well: each writes beside the goal and renames.
    """
    if found := program.find():
        return found
    go = shutil.which("go")
    if not go:
        raise BuildFailed("not installed: go")
    goal = program.built
    goal.parent.mkdir(parents=True, exist_ok=True)
    draft = goal.with_name(f"{goal.name}.{os.getpid()}")
    major, minor, *_ = program.version.removeprefix("v").split(".")
    flags = "-s -w " + program.flags.format(version=program.version, major=major, minor=minor)
    command = ["nice", "-n", "10", go, "build", "-p", "2", "-trimpath", "-mod=readonly", "-ldflags", flags.strip()]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    try:
        with _scratch() as scratch, _workplace(program) as folder:
            done = subprocess.run(
                [*command, "-o", str(draft), program.package],
                cwd=folder,
                env={**environment, "GOTMPDIR": scratch},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=patience,
            )
        if done.returncode:
            raise BuildFailed(f"{program.command} {program.version}: {done.stderr[-2000:]}")
        draft.rename(goal)
    except subprocess.TimeoutExpired as late:
        raise BuildFailed(f"{program.command} {program.version}: not built within {patience:g} s") from late
    except NotFetched as failure:
        raise BuildFailed(str(failure)) from failure
    finally:
        draft.unlink(missing_ok=True)
    return goal


def _scratch() -> tempfile.TemporaryDirectory[str]:
    # A compiler may still write there for a moment when its builder was ended for being late.
    return tempfile.TemporaryDirectory(prefix="quarterdeck-build-", ignore_cleanup_errors=True)


@contextmanager
def _workplace(program: Program) -> Iterator[Path]:
    """The folder a program is built in."""
    if not program.lacks:
        yield GOMOD / program.folder
        return
    with _scratch() as scratch:
        copy = Path(scratch, "module")
        # Modules lie write-protected; only the bytes are wanted.
        shutil.copytree(download(program.module, program.version), copy, copy_function=shutil.copyfile)
        for folder in (copy, *copy.rglob("*/")):
            folder.chmod(0o755)
        missing = copy / program.lacks
        missing.parent.mkdir(parents=True, exist_ok=True)
        missing.touch()
        yield copy


def download(module: str, version: str) -> Path:
    """The folder of a Go module, fetched unless it is there. Raises `NotFetched`."""
    go = shutil.which("go")
    if not go:
        raise NotFetched(f"not installed: go (it fetches {module})")
    done = subprocess.run(
        [go, "mod", "download", "-json", f"{module}@{version}"],
        cwd=GOMOD,
        env={**os.environ, "GOWORK": "off", "GO111MODULE": "on"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        raise NotFetched(f"{module} {version}: {done.stdout[-400:]}{done.stderr[-400:]}")
    return Path(json.loads(done.stdout)["Dir"])
