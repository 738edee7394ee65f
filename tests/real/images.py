"""Small images made on the spot from the machine's own busybox; nothing is pulled from anywhere.

`docker import` makes a new image id each time, so the "same" image differs between engines. Where identity matters, push it to
the harness's registry and use it by digest.
"""

import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.real.engine import Engine
from tests.real.place import Place
from tests.real.processes import HarnessError

WEB = "quarterdeck/web"
"""Serves `/index.html` (its tag) and `/healthz` on port 8080, logs a line at its start, ends at once on SIGTERM. Tags 1, 2."""

BROKEN = "quarterdeck/broken:1"
"""Says `cannot start` on standard error and exits 3 after a moment."""

SHELL = "quarterdeck/shell:1"
"""Busybox with no command of its own; sleeps, and ends at once on SIGTERM."""

_IDLE = "trap 'exit 0' TERM; while :; do sleep 1 & wait; done"


def root_archive(place: Path | Place) -> Path:
    """A tar file of a busybox root file system in the place, made once."""
    home = place.folder("image") if isinstance(place, Place) else place
    archive = home / "root.tar"
    if archive.exists():
        return archive
    busybox = shutil.which("busybox")
    if not busybox:
        raise HarnessError("not installed: busybox (static)")
    root = home / "root"
    for name in ("bin", "tmp", "etc", "proc", "sys", "dev", "www"):
        (root / name).mkdir(parents=True, exist_ok=True)
    shutil.copy2(busybox, root / "bin" / "busybox")
    applets = subprocess.run([busybox, "--list"], text=True, capture_output=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    with tarfile.open(archive, "w") as tar:
        tar.add(root, ".")
    return archive


def load(engine: Engine, archive: Path) -> None:
    """Give an engine all the images above, unless it has them."""
    present = {tag for image in engine.api("GET", "/images/json") for tag in image["RepoTags"] or []}
    if present >= {f"{WEB}:1", f"{WEB}:2", BROKEN, SHELL}:
        return
    for tag in ("1", "2"):
        serve = f"echo {tag} > /www/index.html; echo ok > /www/healthz; httpd -p 8080 -h /www; echo serving {tag}; {_IDLE}"
        import_image(engine, archive, f"{WEB}:{tag}", serve)
    import_image(engine, archive, BROKEN, "echo cannot start >&2; sleep 0.3; exit 3")
    import_image(engine, archive, SHELL, _IDLE)


def import_image(engine: Engine, archive: Path, reference: str, script: str) -> None:
    """Make one image whose command is a shell script."""
    quoted = script.replace("\\", "\\\\").replace('"', '\\"')
    changes = ("-c", "ENV PATH=/bin", "-c", f'CMD ["sh", "-c", "{quoted}"]')
    engine.docker("import", *changes, str(archive), reference)
