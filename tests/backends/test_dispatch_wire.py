"""The engine's writes on the wire: one request each, and an answer that says nothing is never taken for a yes or a no."""

from __future__ import annotations

import json

import pytest

from console.backends.dispatch_objects import ClusterObjects
from console.clients.endpoint import Endpoint
from console.clients.kubernetes import KubernetesClient
from console.engines.dispatch.faults import WriteFate, classify_write
from console.engines.ports.applier import APPLICATIONS, KUSTOMIZATIONS
from console.errors import Invalid, QuarterdeckError
from tests.clients.servers import Reply, Seen, serve

BODY = {"metadata": {"namespace": "flux-system", "name": "shop"}}
PAGE = "<html><body><h1>Welcome to the proxy</h1></body></html>"


def answer(status: int, body: str, kind: str = "application/json", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", f"Content-Length: {len(body.encode())}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", body]).encode()


def refusal(status: int, reason: str) -> str:
    return json.dumps({"kind": "Status", "code": status, "reason": reason, "message": reason, "details": {"name": "shop"}})


@pytest.mark.scenario("dispatch:R32")
@pytest.mark.parametrize("verb", ["apply", "replace"])
@pytest.mark.parametrize(
    ("sent", "fate"),
    [
        (answer(200, PAGE, "text/html"), WriteFate.UNCONFIRMED),
        (answer(200, '{"metadata": {"name": "sh'), WriteFate.UNCONFIRMED),
        (answer(200, ""), WriteFate.UNCONFIRMED),
        (answer(200, "[]"), WriteFate.UNCONFIRMED),
        (answer(200, "null"), WriteFate.UNCONFIRMED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{", WriteFate.UNCONFIRMED),
        (b"", WriteFate.UNCONFIRMED),
        (b"\x16\x03\x01 what is this", WriteFate.UNCONFIRMED),
        (answer(302, "", Location="https://login.example.test/"), WriteFate.UNCONFIRMED),
        (answer(403, PAGE, "text/html"), WriteFate.UNCONFIRMED),
        (answer(500, refusal(500, "InternalError")), WriteFate.UNCONFIRMED),
        (answer(502, PAGE, "text/html"), WriteFate.UNCONFIRMED),
        (answer(503, refusal(503, "ServiceUnavailable")), WriteFate.UNCONFIRMED),
        (answer(504, refusal(504, "Timeout")), WriteFate.UNCONFIRMED),
        (answer(408, PAGE, "text/html"), WriteFate.UNCONFIRMED),
        (answer(429, refusal(429, "TooManyRequests"), Retry_After="1"), WriteFate.NOT_MADE),
        (answer(400, refusal(400, "BadRequest")), WriteFate.NOT_MADE),
        (answer(401, refusal(401, "Unauthorized")), WriteFate.NOT_MADE),
        (answer(405, refusal(405, "MethodNotAllowed")), WriteFate.NOT_MADE),
        (answer(415, refusal(415, "UnsupportedMediaType")), WriteFate.NOT_MADE),
        (answer(422, refusal(422, "Invalid")), WriteFate.NOT_MADE),
        (answer(404, refusal(404, "NotFound")), WriteFate.GONE),
        (answer(409, refusal(409, "Conflict")), WriteFate.CONFLICT),
        (answer(403, refusal(403, "Forbidden")), WriteFate.FORBIDDEN),
    ],
)
async def test_a_starting_write_is_sent_once_and_its_fate_is_told_truly(verb: str, sent: bytes, fate: WriteFate) -> None:
    arrived: list[Seen] = []

    async def handler(seen: Seen, reply: Reply) -> None:
        arrived.append(seen)
        if sent:
            await reply.raw(sent)
        reply.close()

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        objects = ClusterObjects(client)
        with pytest.raises(QuarterdeckError) as caught:
            if verb == "apply":
                await objects.apply(KUSTOMIZATIONS, BODY, manager="m", force=True)
            else:
                await objects.replace(APPLICATIONS, BODY, manager="m")
        await client.close()
    assert classify_write(caught.value) is fate, repr(caught.value)
    assert len(arrived) == 1
    assert caught.value.message


@pytest.mark.parametrize("name", ["../../secrets/key", "a?watch=true", "a#b", "a%2e%2e", "ä ö", "a/status"])
async def test_a_name_stays_one_part_of_the_path_whatever_somebody_wrote(name: str) -> None:
    arrived: list[Seen] = []

    async def handler(seen: Seen, reply: Reply) -> None:
        arrived.append(seen)
        await reply.json({"metadata": {"name": name}})

    async with serve(handler) as server:
        client = KubernetesClient(Endpoint(base_url=server.url))
        await ClusterObjects(client).get(KUSTOMIZATIONS, "flux-system", name)
        await client.close()
    path = arrived[0].target
    assert path.startswith("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/")
    assert path.count("/") == 7
    assert "?" not in path


@pytest.mark.parametrize("name", [".", ".."])
async def test_a_name_that_is_a_way_is_refused(name: str) -> None:
    objects = ClusterObjects(KubernetesClient(Endpoint(base_url="http://127.0.0.1:1")))
    with pytest.raises(Invalid, match="is no name of an object"):
        await objects.get(KUSTOMIZATIONS, "flux-system", name)
