"""Serves bare git repositories over HTTP on loopback, by git's own `http-backend`, with or without a password.

`python -m tests.real.git_http ROOT PORT [USER:PASSWORD]`, started by `GitServer`. Standard library only.
"""

import base64
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Backend(BaseHTTPRequestHandler):
    """Hands each request to `git http-backend` as a CGI program."""

    root = ""
    login = ""

    def do_GET(self) -> None:
        """Discovery and plain files."""
        self._serve()

    def do_POST(self) -> None:
        """Fetches and pushes."""
        self._serve()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it so
        """Log to standard error, which the harness keeps in a file."""
        print(format % args, file=sys.stderr)

    def _serve(self) -> None:
        wanted = f"Basic {base64.b64encode(self.login.encode()).decode()}"
        if self.login and self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="quarterdeck"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length) if length else "",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_USER": self.login.partition(":")[0],
        }
        done = subprocess.run(
            ["git", "http-backend"], input=self.rfile.read(length), capture_output=True, env=environment, check=False
        )
        self._answer(done.stdout)

    def _answer(self, output: bytes) -> None:
        head, _, body = output.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in headers if name.lower() == "status"), 200)
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("status", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until ended."""
    Backend.root, port = sys.argv[1], int(sys.argv[2])
    Backend.login = sys.argv[3] if len(sys.argv) > 3 else ""
    ThreadingHTTPServer(("127.0.0.1", port), Backend).serve_forever()


if __name__ == "__main__":
    main()
