"""Every way to a server: TLS in all its forms, unix sockets, proxies; and what stands in the way, in words."""

import asyncio
import ssl
from pathlib import Path

import pytest

from console import errors
from console.clients.endpoint import Endpoint
from console.clients.http import HttpClient
from console.clients.transport import Exchange, connection_problem
from tests.clients.servers import Authority, Reply, Seen, connect_proxy, listening, serve, socks_proxy, strict_tls


async def ok(seen: Seen, reply: Reply) -> None:
    subject = dict(pair[0] for pair in (seen.peer_certificate or {}).get("subject", ()))
    await reply.json({"who": subject.get("commonName", "")})


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


async def get(endpoint: Endpoint) -> object:
    client = HttpClient(endpoint)
    try:
        return (await client.request("GET", "/")).json()
    finally:
        await client.close()


async def failed(endpoint: Endpoint) -> errors.QuarterdeckError:
    with pytest.raises(errors.QuarterdeckError) as caught:
        await get(endpoint)
    return caught.value


async def test_a_given_authority_is_trusted_whatever_the_environment_says(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(Authority().pem)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, str(other))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    async with serve(ok, tls=authority.server("127.0.0.1")) as server:
        await get(Endpoint(base_url=server.url, ca=authority.pem))
        path = tmp_path / "ca.pem"
        path.write_bytes(authority.pem)
        await get(Endpoint(base_url=server.url, ca=str(path)))


async def test_the_environment_does_not_add_to_a_given_authority(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = tmp_path / "right.pem"
    right.write_bytes(authority.pem)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, str(right))
    async with serve(ok, tls=authority.server("127.0.0.1")) as server:
        error = await failed(Endpoint(base_url=server.url, ca=Authority().pem))
    assert isinstance(error, errors.Unreachable)
    assert "certificate is not accepted" in error.message
    assert "certificate-authority" in error.hint


async def test_a_certificate_for_another_name_is_refused_unless_that_name_is_given(authority: Authority) -> None:
    async with serve(ok, tls=authority.server("api.example")) as server:
        error = await failed(Endpoint(base_url=server.url, ca=authority.pem))
        assert "127.0.0.1" in error.message
        await get(Endpoint(base_url=server.url, ca=authority.pem, server_name="api.example"))
        await get(Endpoint(base_url=server.url, verify=False))


async def test_a_client_certificate_says_who_we_are(authority: Authority, tmp_path: Path) -> None:
    cert, key = authority.client("jo@example.org")
    (tmp_path / "cert.pem").write_bytes(cert)
    (tmp_path / "key.pem").write_bytes(key)

    async def changing() -> tuple[bytes, bytes]:
        return cert, key

    async with serve(ok, tls=authority.server("127.0.0.1", clients=True)) as server:
        assert await get(Endpoint(base_url=server.url, ca=authority.pem, cert=cert, key=key)) == {"who": "jo@example.org"}
        files = Endpoint(base_url=server.url, ca=authority.pem, cert=str(tmp_path / "cert.pem"), key=str(tmp_path / "key.pem"))
        assert await get(files) == {"who": "jo@example.org"}
        assert await get(Endpoint(base_url=server.url, ca=authority.pem, certificate=changing)) == {"who": "jo@example.org"}


async def test_a_changed_client_certificate_is_used_from_the_next_request_on(authority: Authority) -> None:
    people = iter(["jo@example.org", "jo@example.org", "al@example.org"])
    made: dict[str, tuple[bytes, bytes]] = {}

    async def changing() -> tuple[bytes, bytes]:
        name = next(people)
        made.setdefault(name, authority.client(name))
        return made[name]

    async with serve(ok, tls=authority.server("127.0.0.1", clients=True)) as server:
        client = HttpClient(Endpoint(base_url=server.url, ca=authority.pem, certificate=changing))
        seen = [(await client.request("GET", "/")).json()["who"] for _ in range(3)]
        await client.close()
    assert seen == ["jo@example.org", "jo@example.org", "al@example.org"]
    assert server.connections == 2


async def test_a_refused_client_certificate_is_a_login_matter_and_never_an_unclear_answer(authority: Authority) -> None:
    async with strict_tls(authority.server("127.0.0.1", clients=True)) as port:
        stranger, key = Authority().client("mallory@example.org")
        told: list[None] = []
        for endpoint in (
            Endpoint(base_url=f"https://127.0.0.1:{port}", ca=authority.pem, rejected=lambda: told.append(None)),
            Endpoint(base_url=f"https://127.0.0.1:{port}", ca=authority.pem, cert=stranger, key=key),
        ):
            client = HttpClient(endpoint)
            for method in ("GET", "POST"):
                with pytest.raises(errors.LoginExpired, match="client certificate"):
                    await client.request(method, "/")
            await client.close()
        assert len(told) == 2


async def test_http_and_https_taken_for_each_other_are_said_so(authority: Authority) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with listening(plain) as port:
        error = await failed(Endpoint(base_url=f"https://127.0.0.1:{port}", ca=authority.pem))
    assert isinstance(error, errors.Unreachable)
    assert "http://" in error.hint
    async with serve(ok, tls=authority.server("127.0.0.1")) as server:
        error = await failed(Endpoint(base_url=server.url.replace("https", "http")))
    assert isinstance(error, errors.ConnectionProblem | errors.ProtocolError)


@pytest.mark.parametrize("content", [b"", b"no PEM at all", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
async def test_an_unreadable_authority_is_a_configuration_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(content)
    error = await failed(Endpoint(base_url="https://127.0.0.1:9", ca=str(path)))
    assert isinstance(error, errors.ConfigError)
    assert str(path) in error.message


async def test_missing_files_are_named(tmp_path: Path, authority: Authority) -> None:
    missing = str(tmp_path / "missing.pem")
    assert missing in (await failed(Endpoint(base_url="https://127.0.0.1:9", ca=missing))).message
    error = await failed(Endpoint(base_url="https://127.0.0.1:9", ca=authority.pem, cert=missing, key=missing))
    assert isinstance(error, errors.ConfigError)
    assert missing in error.message


async def test_a_protected_key_is_refused_and_never_asked_about(authority: Authority) -> None:
    from cryptography.hazmat.primitives import serialization

    cert, key = authority.client("jo@example.org")
    protected = serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    error = await failed(Endpoint(base_url="https://127.0.0.1:9", ca=authority.pem, cert=cert, key=protected))
    assert isinstance(error, errors.ConfigError)
    assert "passphrase" in error.message


async def test_a_unix_socket_works_like_any_address(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    async with serve(ok, unix=path) as server:
        await get(Endpoint(base_url="http://localhost", uds=str(path)))
    assert server.seen[0].header("host") == "localhost"
    path.unlink(missing_ok=True)
    error = await failed(Endpoint(base_url="http://localhost", uds=str(path)))
    assert isinstance(error, errors.Unreachable)
    assert error.message == f"unix://{path}: no such file or directory."
    assert "engine running" in error.hint


async def test_a_proxy_tunnels_and_the_servers_certificate_is_still_checked(authority: Authority) -> None:
    async with serve(ok, tls=authority.server("api.internal")) as server, connect_proxy(where=server.port) as proxy:
        await get(Endpoint(base_url="https://api.internal:6443", ca=authority.pem, proxy=proxy.url))
        await get(Endpoint(base_url="https://10.1.2.3:6443", ca=authority.pem, proxy=proxy.url, server_name="api.internal"))
        error = await failed(Endpoint(base_url="https://10.1.2.3:6443", ca=authority.pem, proxy=proxy.url))
    assert proxy.targets == ["api.internal:6443", "10.1.2.3:6443", "10.1.2.3:6443"]
    assert isinstance(error, errors.Unreachable)


async def test_a_proxys_own_login_is_sent_and_its_refusal_told_without_it(authority: Authority) -> None:
    login = "Basic am86czNjcmV0cGFzcw=="
    async with (
        serve(ok, tls=authority.server("api.internal")) as server,
        connect_proxy(where=server.port, authorization=login) as proxy,
    ):
        with_login = proxy.url.replace("http://", "http://jo:s3cretpass@")
        await get(Endpoint(base_url="https://api.internal", ca=authority.pem, proxy=with_login))
        wrong = proxy.url.replace("http://", "http://jo:wr0ngpass@")
        client = HttpClient(Endpoint(base_url="https://api.internal", ca=authority.pem, proxy=wrong))
        with pytest.raises(errors.Unreachable, match="407") as caught:
            await client.request("POST", "/")
        await client.close()
    assert "wr0ngpass" not in caught.value.sentence()


async def test_a_dead_proxy_is_named() -> None:
    error = await failed(Endpoint(base_url="https://api.internal", proxy="http://jo:s3cretpass@127.0.0.1:9"))
    assert isinstance(error, errors.Unreachable)
    assert "127.0.0.1:9" in error.hint
    assert "s3cretpass" not in error.sentence()


async def test_a_socks_proxy_resolves_the_name(authority: Authority) -> None:
    async with serve(ok, tls=authority.server("api.internal")) as server, socks_proxy(server.port) as proxy:
        await get(Endpoint(base_url="https://api.internal", ca=authority.pem, proxy=proxy.url))
        await get(Endpoint(base_url="https://10.9.9.9", ca=authority.pem, proxy=proxy.url, server_name="api.internal"))
    assert proxy.targets == ["api.internal", "10.9.9.9"]


@pytest.mark.parametrize("way", ["tls", "socks", "connect"])
async def test_a_handshake_that_is_given_up_leaves_no_connection_open(authority: Authority, way: str) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            pass
        closed.set()

    closed = asyncio.Event()
    async with listening(silent) as port:
        here = f"127.0.0.1:{port}"
        proxy = {"tls": "", "socks": f"socks5://{here}", "connect": f"http://{here}"}[way]
        client = HttpClient(Endpoint(base_url=f"https://{here}", ca=authority.pem, proxy=proxy))
        with pytest.raises(errors.Unreachable, match=r"no connection within 0\.2 s"):
            await client.request("POST", "/", timeout=0.2)
        async with asyncio.timeout(20):
            await closed.wait()
        await client.close()


async def test_a_proxy_of_an_unknown_kind_is_a_configuration_error() -> None:
    assert isinstance(await failed(Endpoint(base_url="https://a", proxy="ftp://proxy")), errors.ConfigError)


async def test_no_key_stays_behind_in_a_file(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cert, key = authority.client("jo@example.org")
    async with serve(ok, tls=authority.server("127.0.0.1", clients=True)) as server:
        await get(Endpoint(base_url=server.url, ca=authority.pem, cert=cert, key=key))
    assert list(tmp_path.iterdir()) == []


def test_tls_never_falls_back_to_old_versions(authority: Authority) -> None:
    from console.clients.endpoint import tls_context

    context = tls_context(Endpoint(base_url="https://a", ca=authority.pem))
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.mark.parametrize("reason", ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"])
@pytest.mark.parametrize("sent", [False, True])
def test_a_broken_record_after_a_write_was_sent_does_not_say_that_nothing_was_sent(reason: str, sent: bool) -> None:
    exchange = Exchange("PATCH /x")
    exchange.sent = sent
    broken = ssl.SSLError(1, reason)
    broken.reason = reason
    problem = connection_problem(broken, exchange, Endpoint(base_url="https://127.0.0.1"), safe=False)
    assert type(problem) is (errors.UnclearAnswer if sent else errors.Unreachable)
