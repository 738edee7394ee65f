"""Refusals of the simulated Docker Engine: a status and a message, worded as the engine words them."""

from __future__ import annotations

from console.demo.http_server import Answer


class EngineRefusal(Exception):
    """The engine's no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def answer(self) -> Answer:
        """The refusal as an HTTP answer."""
        return Answer.of_json({"message": self.message}, self.status)


def grpc(status: int, code: str, text: str) -> EngineRefusal:
    """A refusal that comes out of the Swarm's own API."""
    return EngineRefusal(status, f"rpc error: code = {code} desc = {text}")
