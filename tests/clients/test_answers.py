"""What a server's refusal becomes."""

import json
from typing import Any

import msgspec
import pytest

from console import errors
from console.clients.answers import Response, failure


def answer(status: int, body: Any = "", kind: str = "application/json", framed: bool = True, **headers: str) -> Response:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {"content-type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Response(request="GET /it on there", status=status, headers=named, content=content, framed=framed)


def kube(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


PAGE = "<html><head><title>Sign in to\n Example</title></head></html>"


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (answer(401, {"message": "Unauthorized"}), errors.LoginExpired),
        (answer(401, PAGE, "text/html"), errors.LoginExpired),
        (answer(403, kube(403, "Forbidden", 'pods is forbidden: User "jo" cannot list')), errors.Forbidden),
        (answer(403, PAGE, "text/html"), errors.ProtocolError),
        (answer(403, {"message": "network shop has active endpoints"}), errors.Forbidden),
        (answer(403, "<html><body>Request forbidden by administrative rules.</body></html>", "text/html"), errors.Forbidden),
        (answer(404, kube(404, "NotFound", 'pods "web" not found', name="web", kind="pods")), errors.NotFound),
        (answer(404, kube(404, "NotFound", "the server could not find the requested resource")), errors.NotServed),
        (answer(404, "404 page not found\n", "text/plain"), errors.NotServed),
        (answer(404, {"message": "No such container: web"}), errors.NotFound),
        (answer(404, {"message": "page not found"}), errors.NotServed),
        (answer(409, kube(409, "Conflict", "the object has been modified", name="web")), errors.Conflict),
        (answer(500, {"message": "rpc error: code = Unknown desc = update out of sequence"}), errors.Conflict),
        (answer(412, ""), errors.Conflict),
        (answer(410, kube(410, "Expired", "too old resource version")), errors.Gone),
        (answer(400, {"message": "invalid reference format"}), errors.Invalid),
        (answer(501, {"message": "rpc error: code = Unimplemented desc = service mode change is not allowed"}), errors.Invalid),
        (answer(422, kube(422, "Invalid", "spec.replicas: Invalid value")), errors.Invalid),
        (answer(429, kube(429, "TooManyRequests", "slow down", retryAfterSeconds=7)), errors.Overloaded),
        (answer(503, {"message": "This node is not a swarm manager."}), errors.NotServed),
        (answer(503, {"message": "This node is not part of a swarm"}), errors.NotServed),
        (answer(500, {"message": "rpc error: The swarm does not have a leader."}), errors.Overloaded),
        (answer(502, PAGE, "text/html"), errors.Overloaded),
        (answer(500, {"message": "it broke"}), errors.ApiError),
        (answer(302, "", location="https://login.example/?state=abc"), errors.ProtocolError),
    ],
)
def test_a_status_becomes_the_error_that_it_means(response: Response, kind: type[errors.QuarterdeckError]) -> None:
    error = failure(response, safe=True)
    assert type(error) is kind
    assert "GET /it on there" in error.message
    assert error.hint


def test_a_page_in_place_of_an_answer_is_named_by_its_title() -> None:
    error = failure(answer(403, PAGE, "text/html"), safe=True)
    assert '"Sign in to Example"' in error.message
    assert "proxy" in error.hint.lower()


def test_an_overloaded_server_says_when_to_come_back() -> None:
    for response in (answer(429, kube(429, "TooManyRequests", "slow", retryAfterSeconds=7)), answer(503, "", retry_after="7")):
        error = failure(response, safe=True)
        assert isinstance(error, errors.Overloaded)
        assert error.retry_after == 7
        assert "7 s" in error.hint


def test_a_refused_field_comes_with_its_owners() -> None:
    causes = [{"reason": "FieldManagerConflict", "field": ".spec.suspend", "message": 'conflict with "flux"'}]
    error = failure(answer(409, kube(409, "Conflict", "Apply failed", name="apps", causes=causes)), safe=False)
    assert isinstance(error, errors.Conflict)
    assert error.details["causes"] == causes


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (504, "Timeout"),
        (502, ""),
        (500, "etcdserver: request timed out"),
        (500, "etcdserver: leader changed"),
        (500, "context deadline exceeded"),
    ],
)
def test_a_write_that_the_server_lost_track_of_is_unclear_and_a_read_is_not(status: int, message: str) -> None:
    response = answer(status, {"message": message})
    assert isinstance(failure(response, safe=False), errors.UnclearAnswer)
    assert isinstance(failure(response, safe=True), errors.ApiError)


def test_what_the_server_says_is_masked_shortened_and_harmless() -> None:
    error = failure(answer(400, {"message": "bad \x1b[31m token=abcdef0123456789 " + "x" * 2000}), safe=True)
    assert "abcdef0123456789" not in error.message
    assert "\x1b" not in error.message
    assert len(error.message) < 500


def test_a_whole_answer_that_is_no_json_says_what_it_is() -> None:
    with pytest.raises(errors.ProtocolError, match='a web page \\("Sign in to Example"\\), not JSON'):
        answer(200, PAGE, "text/html").json()
    with pytest.raises(errors.ProtocolError, match='text/plain \\("hello"\\), not JSON'):
        answer(200, "hello", "text/plain").json()
    with pytest.raises(errors.ProtocolError, match="an empty body, not JSON"):
        answer(200, "").json()


def test_half_an_answer_that_could_not_know_its_length_is_interrupted() -> None:
    with pytest.raises(errors.Interrupted):
        answer(200, '{"half": ', framed=False).json()


def test_json_of_another_shape_names_the_place() -> None:
    class Wanted(msgspec.Struct):
        name: str

    with pytest.raises(errors.ProtocolError, match=r"\$\.name"):
        answer(200, {"name": 3}).decode(msgspec.json.Decoder(Wanted))


def test_a_write_whose_answer_can_not_be_read_is_unclear_unless_a_page_came_instead() -> None:
    with pytest.raises(errors.UnclearAnswer):
        msgspec.structs.replace(answer(200, '{"half": ', framed=False), safe=False).json()
    with pytest.raises(errors.ProtocolError):
        msgspec.structs.replace(answer(200, PAGE, "text/html"), safe=False).json()
