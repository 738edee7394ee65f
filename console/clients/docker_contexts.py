"""Where Docker engines are: ``DOCKER_HOST`` and its companions, and the contexts that the docker command keeps.

Sources: the docker command's reference (environment variables) and its context store: ``contexts/meta/*/meta.json`` with
TLS files under ``contexts/tls/*/docker/`` in the configuration folder, the folder's name being the SHA-256 of the context's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from console.clients.endpoint import Endpoint
from console.clients.proxies import proxy_for
from console.clients.ssh_address import parse_destination
from console.errors import ConfigError, QuarterdeckError
from console.kit.masking import mask_text

DEFAULT_SOCKET = "unix:///var/run/docker.sock"


class DockerContext(msgspec.Struct, frozen=True, kw_only=True):
    """One engine by name. ``host`` is ``unix://``, ``tcp://``, ``http(s)://`` or ``ssh://``.

    ``tls`` is whether TLS is spoken over tcp, ``verify`` whether the engine's certificate is checked; ``ca``, ``cert`` and
    ``key`` are paths of PEM files, "" if there is none. ``implied``: nobody named it, it is only where an engine usually is.
    """

    name: str
    host: str
    description: str = ""
    current: bool = False
    implied: bool = False
    tls: bool = False
    verify: bool = True
    ca: str = ""
    cert: str = ""
    key: str = ""
    env: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"DockerContext({self.name!r}, {mask_text(self.host)!r})"

    def endpoint(self) -> Endpoint:
        """Where and how to connect; raises :class:`ConfigError` for an address that can't be used."""
        where = f"docker context {self.name}"
        parts = urlsplit(self.host)
        if parts.scheme == "unix":
            path = self.host.removeprefix("unix://")
            if not path.startswith("/"):
                raise ConfigError(f"{where}: {self.host} has no absolute path.", "Give unix:///path/of/docker.sock.")
            return Endpoint(base_url="http://localhost", uds=path)
        if parts.scheme == "ssh":
            parse_destination(self.host)
            return Endpoint(base_url="http://localhost", ssh=self.host, connect_timeout=20.0)
        if parts.scheme in {"tcp", "http", "https"} and parts.hostname:
            return self._tcp(parts.scheme, parts.netloc.rpartition("@")[2], parts.port, parts.path)
        raise ConfigError(f"{where}: {mask_text(self.host) or 'its address'} can't be used.", "Give unix://, tcp:// or ssh://.")

    def _tcp(self, scheme: str, netloc: str, port: int | None, path: str) -> Endpoint:
        secure = self.tls or scheme == "https"
        if port is None and scheme == "tcp":
            netloc = f"{netloc}:{2376 if secure else 2375}"
        url = f"{'https' if secure else 'http'}://{netloc}{path.rstrip('/')}"
        hint = "The engine wants another client certificate: check ca.pem, cert.pem and key.pem of this context."
        return Endpoint(
            base_url=url,
            ca=self.ca,
            cert=self.cert,
            key=self.key,
            verify=self.verify,
            proxy=proxy_for(url, self.env),
            login_hint=hint if secure else "",
        )


class DockerContexts(NamedTuple):
    """All contexts, "default" first and the others by name; what could not be read, in words."""

    contexts: tuple[DockerContext, ...]
    problems: tuple[str, ...]


def docker_config_folder(env: Mapping[str, str]) -> Path:
    """``DOCKER_CONFIG`` or ``~/.docker``."""
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    return Path(env["DOCKER_CONFIG"]) if env.get("DOCKER_CONFIG") else home / ".docker"


def read_docker_contexts(env: Mapping[str, str]) -> DockerContexts:
    """Everything that the docker command would offer. Never raises: a broken context is a problem, the others stay."""
    folder = docker_config_folder(env)
    problems: list[str] = []
    stored = [
        context
        for path in sorted((folder / "contexts" / "meta").glob("*/meta.json"))
        if (context := _read(path, env, problems))
    ]
    current = _current(folder, env, problems)
    contexts = [_default(folder, env), *sorted(stored, key=lambda context: context.name)]
    if current not in {context.name for context in contexts}:
        problems.append(f"{folder}: the current docker context {current!r} does not exist.")
    marked = tuple(msgspec.structs.replace(context, current=context.name == current) for context in contexts)
    return DockerContexts(marked, tuple(problems))


def _default(folder: Path, env: Mapping[str, str]) -> DockerContext:
    """The context that consists of environment variables."""
    host = env.get("DOCKER_HOST", "").strip()
    if host and "://" not in host:
        host = f"tcp://{host}"
    verify = bool(env.get("DOCKER_TLS_VERIFY"))
    tls = verify or bool(env.get("DOCKER_TLS"))
    certificates = Path(env["DOCKER_CERT_PATH"]) if env.get("DOCKER_CERT_PATH") else folder
    ca, cert, key = _files(certificates) if tls else ("", "", "")
    return DockerContext(
        name="default",
        host=host or DEFAULT_SOCKET,
        description="from DOCKER_HOST" if host else "",
        implied=not host,
        tls=tls,
        verify=verify or not tls,
        ca=ca,
        cert=cert,
        key=key,
        env=env,
    )


def _current(folder: Path, env: Mapping[str, str], problems: list[str]) -> str:
    """As the docker command decides: DOCKER_HOST beats DOCKER_CONTEXT beats the choice in config.json."""
    if env.get("DOCKER_HOST"):
        return "default"
    if env.get("DOCKER_CONTEXT"):
        return env["DOCKER_CONTEXT"]
    try:
        document = _json(folder / "config.json")
    except FileNotFoundError:
        return "default"
    except QuarterdeckError as error:
        problems.append(error.sentence())
        return "default"
    return str(document.get("currentContext") or "default")


def _read(path: Path, env: Mapping[str, str], problems: list[str]) -> DockerContext | None:
    try:
        document = _json(path)
        name = document.get("Name")
        endpoint = (document.get("Endpoints") or {}).get("docker")
        if not isinstance(name, str) or not name or not isinstance(endpoint, dict):
            raise ConfigError(f"{path}: is no docker context (no name or no docker endpoint).")
    except (QuarterdeckError, FileNotFoundError, AttributeError) as error:
        problems.append(str(error))
        return None
    folder = path.parents[2] / "tls" / hashlib.sha256(name.encode()).hexdigest() / "docker"
    ca, cert, key = _files(folder)
    insecure = bool(endpoint.get("SkipTLSVerify"))
    metadata = document.get("Metadata")
    return DockerContext(
        name=name,
        host=str(endpoint.get("Host") or DEFAULT_SOCKET),
        description=str(metadata.get("Description") or "") if isinstance(metadata, dict) else "",
        tls=insecure or bool(ca or cert),
        verify=not insecure,
        ca=ca,
        cert=cert,
        key=key,
        env=env,
    )


def _files(folder: Path) -> tuple[str, str, str]:
    found = [str(folder / name) if (folder / name).is_file() else "" for name in ("ca.pem", "cert.pem", "key.pem")]
    return found[0], found[1], found[2]


def _json(path: Path) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror or type(error).__name__}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not JSON.") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: is not a JSON object.")
    return document
