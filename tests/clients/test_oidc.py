"""OpenID Connect logins: kept while valid, renewed only with the provider that is meant, never lost for kubectl."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml

from console import errors
from console.clients.oidc import OidcLogin, expiry
from tests.clients.servers import Authority, Reply, Seen, Server, serve

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class FixedClock:
    def now(self) -> datetime:
        return NOW


def token(minutes: float, who: str = "jo") -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    ends = int((NOW + timedelta(minutes=minutes)).timestamp())
    return f"{part({'alg': 'RS256'})}.{part({'exp': ends, 'sub': who})}.c2lnbmF0dXJl"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


class Provider:
    """An identity provider whose refresh tokens count once."""

    def __init__(self) -> None:
        self.server = Server()
        self.issuer = ""
        self.good = "refresh-token-number-1"
        self.renewed = token(60, "renewed")
        self.answer: dict[str, Any] | None = None
        self.methods: list[str] | None = None

    async def __call__(self, seen: Seen, reply: Reply) -> None:
        if seen.path == "/realm/.well-known/openid-configuration":
            supported = {} if self.methods is None else {"token_endpoint_auth_methods_supported": self.methods}
            url = self.server.url
            await reply.json({"issuer": self.issuer or f"{url}/realm", "token_endpoint": f"{url}/realm/token", **supported})
            return
        if parse_qs(seen.body.decode())["refresh_token"] != [self.good]:
            await reply.json({"error": "invalid_grant", "error_description": "Token is not active"}, 400)
            return
        self.good = "refresh-token-number-2"
        await reply.json({"id_token": self.renewed, "refresh_token": self.good} if self.answer is None else self.answer)


def login(provider: Provider, authority: Authority, folder: Path, **config: str) -> tuple[OidcLogin, Path]:
    config = {
        "idp-issuer-url": f"{provider.server.url}/realm",
        "idp-certificate-authority-data": base64.b64encode(authority.pem).decode(),
        "client-id": "kube client",
        "refresh-token": "refresh-token-number-1",
        "id-token": token(-5),
        **config,
    }
    path = folder / "config"
    user = {"name": "jo", "user": {"auth-provider": {"name": "oidc", "config": config}}}
    path.write_text("# mine\n" + yaml.safe_dump({"users": [user], "contexts": []}, width=10_000))
    path.chmod(0o640)
    return OidcLogin("context prod", config, str(path), "jo", env={}, clock=FixedClock()), path


async def test_a_valid_token_is_used_without_asking_anybody(authority: Authority, tmp_path: Path) -> None:
    valid = token(5)
    mine, _ = login(Provider(), authority, tmp_path, **{"id-token": valid})
    assert await mine.headers() == {"Authorization": f"Bearer {valid}"}


async def test_an_expired_token_is_renewed_once_and_the_file_kept_in_step(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, path = login(provider, authority, tmp_path)
        answers = await asyncio.gather(*(mine.headers() for _ in range(5)))
        assert await mine.headers() == answers[0]
    assert answers == [{"Authorization": f"Bearer {provider.renewed}"}] * 5
    assert [seen.method for seen in provider.server.seen] == ["GET", "POST"]
    text = path.read_text()
    assert text.startswith("# mine\n")
    config = yaml.safe_load(text)["users"][0]["user"]["auth-provider"]["config"]
    assert (config["id-token"], config["refresh-token"]) == (provider.renewed, "refresh-token-number-2")
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


async def test_what_kubectl_renewed_meanwhile_is_used(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, path = login(provider, authority, tmp_path)
        fresh = token(30, "kubectl")
        path.write_text(path.read_text().replace(token(-5), fresh))
        assert await mine.headers() == {"Authorization": f"Bearer {fresh}"}
    assert provider.server.seen == []


async def test_a_token_that_the_server_refused_is_renewed_before_its_time(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, _ = login(provider, authority, tmp_path, **{"id-token": token(30)})
        await mine.headers()
        mine.rejected()
        assert await mine.headers() == {"Authorization": f"Bearer {provider.renewed}"}


@pytest.mark.parametrize(
    ("methods", "secret", "basic"), [(None, "s&crét", True), (["client_secret_post"], "s&crét", False), (None, "", False)]
)
async def test_the_client_names_itself_as_the_provider_wants_it(
    authority: Authority, tmp_path: Path, methods: list[str] | None, secret: str, basic: bool
) -> None:
    provider = Provider()
    provider.methods = methods
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, _ = login(provider, authority, tmp_path, **{"client-secret": secret})
        await mine.headers()
    asked = provider.server.seen[-1]
    form = parse_qs(asked.body.decode())
    if basic:
        assert base64.b64decode(asked.header("authorization").removeprefix("Basic ")) == b"kube%20client:s%26cr%C3%A9t"
        assert "client_id" not in form
    else:
        assert form["client_id"] == ["kube client"]
        assert form.get("client_secret", [""]) == [secret]


async def test_a_provider_that_calls_itself_otherwise_gets_no_refresh_token(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    provider.issuer = "https://evil.example"
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, _ = login(provider, authority, tmp_path)
        with pytest.raises(errors.ProtocolError, match=r"evil\.example"):
            await mine.headers()
    assert [seen.method for seen in provider.server.seen] == ["GET"]


async def test_a_used_up_login_needs_a_person(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    provider.good = "another-refresh-token"
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, _ = login(provider, authority, tmp_path)
        with pytest.raises(errors.LoginExpired, match="Token is not active") as caught:
            await mine.headers()
    assert "Log in again" in caught.value.hint
    assert "refresh-token-number-1" not in caught.value.sentence()


async def test_without_a_refresh_token_the_end_is_the_end(authority: Authority, tmp_path: Path) -> None:
    mine, _ = login(Provider(), authority, tmp_path, **{"refresh-token": ""})
    with pytest.raises(errors.LoginExpired, match="nothing to renew it with"):
        await mine.headers()


async def test_a_provider_without_an_id_token_is_said_so(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    provider.answer = {"access_token": "abc"}
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, _ = login(provider, authority, tmp_path)
        with pytest.raises(errors.LoginExpired, match="without an ID token"):
            await mine.headers()


async def test_a_dead_provider_is_unreachable_and_named(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    provider.server.url = "https://127.0.0.1:9"
    mine, _ = login(provider, authority, tmp_path)
    with pytest.raises(errors.Unreachable, match="identity provider"):
        await mine.headers()


async def test_tokens_are_never_sent_in_the_clear(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    provider.server.url = "http://127.0.0.1:9"
    mine, _ = login(provider, authority, tmp_path)
    with pytest.raises(errors.ConfigError, match="https"):
        await mine.headers()


async def test_a_file_that_kubectl_holds_is_left_alone(authority: Authority, tmp_path: Path) -> None:
    provider = Provider()
    async with serve(provider, tls=authority.server("127.0.0.1")) as provider.server:
        mine, path = login(provider, authority, tmp_path)
        before = path.read_text()
        path.with_name("config.lock").touch()
        assert await mine.headers() == {"Authorization": f"Bearer {provider.renewed}"}
    assert path.read_text() == before
    assert path.with_name("config.lock").exists()


def test_the_end_of_a_token_is_read_from_it() -> None:
    assert expiry(token(5)) == NOW + timedelta(minutes=5)
    for odd in ("", "opaque", "a.b.c", "a.e30.c", "a." + base64.urlsafe_b64encode(b'{"exp": "soon"}').decode() + ".c"):
        assert expiry(odd) is None
