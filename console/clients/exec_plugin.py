"""Exec credential plugins: run when a credential is needed, cached until it expires, never on our terminal.

Source: Kubernetes ``client.authentication.k8s.io`` (v1 and v1beta1), "client-go credential plugins".
"""

from __future__ import annotations

import asyncio
import base64
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from console.clients.answers import plain
from console.clients.children import Finished, run_child
from console.errors import ConfigError, LoginExpired
from console.kit.timing import Clock, SystemClock

# A person would long have given up; a plugin that waits for a browser never comes back.
DEADLINE = 20.0
_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
# A credential is renewed a little before its end, so that it doesn't expire on the way.
_EARLY = timedelta(seconds=10)
# All watches of a cluster lose their login at once: what has just failed (and perhaps opened a browser) isn't run for each.
_PAUSE = timedelta(seconds=10)


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


_DECODER = msgspec.json.Decoder(_Credential)


class ExecPlugin:
    """One user's plugin.

    :param where: the context in words.
    :param argv: program and arguments. :param env: the whole environment it is run in.
    :param api_version: which it must answer with. :param install_hint: what its author says if it is missing.
    """

    def __init__(
        self,
        where: str,
        argv: list[str],
        env: Mapping[str, str],
        api_version: str,
        *,
        install_hint: str = "",
        cwd: str | None = None,
        deadline: float = DEADLINE,
        clock: Clock | None = None,
    ) -> None:
        self._where = where
        self._argv = argv
        self._env = env
        self._api_version = api_version
        self._install_hint = install_hint
        self._cwd = cwd
        self._deadline = deadline
        self._clock = clock or SystemClock()
        self._status: _Status | None = None
        self._running: asyncio.Task[_Status] | None = None
        self._waiting = 0
        self._failed: tuple[datetime, LoginExpired] | None = None

    @property
    def login_hint(self) -> str:
        """How a person logs in: by running the plugin where it may ask."""
        return f"Login needed: run `{plain(shlex.join(self._argv))}` in a shell, then reconnect."

    async def headers(self) -> dict[str, str]:
        """The Authorization header, if the plugin gives a token."""
        status = await self._current()
        return {"Authorization": f"Bearer {status.token}"} if status.token else {}

    async def certificate(self) -> tuple[bytes, bytes] | None:
        """Client certificate and key, if the plugin gives them."""
        status = await self._current()
        if not status.client_certificate_data:
            return None
        return status.client_certificate_data.encode(), status.client_key_data.encode()

    def rejected(self) -> None:
        """The server did not accept what the plugin gave: ask it anew next time."""
        self._status = None

    async def _current(self) -> _Status:
        status = self._status
        if status is not None and (
            status.expiration_timestamp is None or status.expiration_timestamp - _EARLY > self._clock.now()
        ):
            return status
        if self._failed is not None and self._clock.now() - self._failed[0] < _PAUSE:
            error = self._failed[1]
            raise LoginExpired(error.message, error.hint) from error
        # All who wait share one run; the last who goes away ends it.
        task = self._running
        if task is None or task.done():
            task = self._running = asyncio.create_task(self._run(), name=f"exec plugin of {self._where}")
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting -= 1
            if not self._waiting and not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> _Status:
        self._failed = None
        try:
            self._status = self._read(await self._finished())
        except LoginExpired as error:
            self._failed = (self._clock.now(), error)
            raise
        return self._status

    async def _finished(self) -> Finished:
        try:
            return await run_child(self._argv, env=self._env, timeout=self._deadline, cwd=self._cwd)
        except TimeoutError as error:
            message = f"{self._where}: the login plugin {self._argv[0]} did not answer within {self._deadline:g} s."
            raise LoginExpired(message, self.login_hint) from error
        except OSError as error:
            message = f"{self._where}: the login plugin {self._argv[0]} can't be started: {error.strerror}."
            raise ConfigError(
                message, plain(self._install_hint) or "Install it, or correct the command in the kubeconfig."
            ) from error

    def _read(self, finished: Finished) -> _Status:
        if finished.code != 0:
            words = plain(finished.stderr) or f"exit code {finished.code}"
            raise LoginExpired(f"{self._where}: the login plugin {self._argv[0]} failed: {words}", self.login_hint)
        try:
            credential = _DECODER.decode(finished.stdout)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"{self._where}: the login plugin {self._argv[0]} did not print an ExecCredential."
            raise LoginExpired(message, self.login_hint) from error
        status = credential.status
        if credential.kind != "ExecCredential" or credential.api_version != self._api_version:
            version = plain(credential.api_version) or "no version"
            message = f"{self._where}: the login plugin answers with {version}, not {self._api_version}."
            raise ConfigError(message, "Set the plugin's apiVersion in the kubeconfig, or update it.")
        if status is None or not (status.token or (status.client_certificate_data and status.client_key_data)):
            raise LoginExpired(f"{self._where}: the login plugin {self._argv[0]} gave no credential.", self.login_hint)
        if status.expiration_timestamp is not None and status.expiration_timestamp.tzinfo is None:
            status = msgspec.structs.replace(status, expiration_timestamp=status.expiration_timestamp.replace(tzinfo=UTC))
        return status


def plugin_from(
    where: str, entry: Any, cluster: Mapping[str, Any], endpoint: Mapping[str, Any], env: Mapping[str, str]
) -> ExecPlugin | None:
    """The plugin of a user entry's ``exec``, None without one; raises :class:`ConfigError`.

    :param cluster: for ``provideClusterInfo``. :param endpoint: the endpoint's fields, paths and data resolved.
    """
    if not isinstance(entry, dict):
        return None
    command, version = str(entry.get("command") or ""), str(entry.get("apiVersion") or "")
    if not command:
        raise ConfigError(f"{where}: its exec plugin has no command.")
    if version not in _VERSIONS:
        raise ConfigError(f"{where}: the exec plugin's apiVersion {version!r} is not supported.", f"Use {_VERSIONS[0]}.")
    if entry.get("interactiveMode") == "Always":
        argv = shlex.join([command, *map(str, entry.get("args") or ())])
        raise ConfigError(
            f"{where}: its exec plugin wants a terminal (interactiveMode: Always), which it can't have here.",
            f"Run `{plain(argv)}` in a shell and use a credential that needs no question.",
        )
    spec: dict[str, Any] = {"interactive": False}
    if entry.get("provideClusterInfo"):
        spec["cluster"] = _cluster_info(cluster, endpoint)
    info = {"kind": "ExecCredential", "apiVersion": version, "spec": spec}
    own = {str(pair.get("name")): str(pair.get("value") or "") for pair in entry.get("env") or () if isinstance(pair, dict)}
    return ExecPlugin(
        where,
        [command, *map(str, entry.get("args") or ())],
        {**env, **own, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()},
        version,
        install_hint=str(entry.get("installHint") or ""),
    )


def _cluster_info(cluster: Mapping[str, Any], endpoint: Mapping[str, Any]) -> dict[str, Any]:
    authority = endpoint["ca"]
    if isinstance(authority, str) and Path(authority).is_file():
        authority = Path(authority).read_bytes()
    extensions = [entry for entry in cluster.get("extensions") or () if isinstance(entry, dict)]
    own = [entry.get("extension") for entry in extensions if entry.get("name") == "client.authentication.k8s.io/exec"]
    info = {
        "server": endpoint["base_url"],
        "tls-server-name": endpoint["server_name"],
        "insecure-skip-tls-verify": not endpoint["verify"],
        "certificate-authority-data": base64.b64encode(authority).decode() if isinstance(authority, bytes) else "",
        "proxy-url": str(cluster.get("proxy-url") or ""),
        "config": own[0] if own else None,
    }
    return {key: value for key, value in info.items() if value}
