"""A server for as much of WebHDFS as the tests need, on a directory of this machine.

    GET  ?op=LISTSTATUS | GETFILESTATUS | OPEN     PUT ?op=MKDIRS | CREATE     POST ?op=APPEND

Writes go through a redirect to the same server, as a name node sends clients to a data node.

Source: Hadoop's WebHDFS REST API.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit

PREFIX = "/webhdfs/v1"


class WebHdfs:
    """The server; as a context it gives its ``host:port``."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True)
        handler = type("Handler", (_Handler,), {"root": root})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    root: Path
    protocol_version = "HTTP/1.1"
    # Head and body in one packet: the client would wait 40 ms between two.
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path, query = self._asked()
        if not path.exists():
            return self._refuse(404, "FileNotFoundException", f"File does not exist: {path}")
        if query["op"] == "OPEN":
            start, count = int(query.get("offset", 0)), query.get("length")
            data = path.read_bytes()[start : None if count is None else start + int(count)]
            return self._answer(200, data)
        if query["op"] == "GETFILESTATUS":
            return self._json({"FileStatus": _status(path, "")})
        children = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [_status(child, child.name if path.is_dir() else "") for child in children]
        return self._json({"FileStatuses": {"FileStatus": found}})

    def do_PUT(self) -> None:
        self._write("wb")

    def do_POST(self) -> None:
        self._write("ab")

    def do_DELETE(self) -> None:
        path, _ = self._asked()
        self._json({"boolean": path.exists()})
        path.unlink(missing_ok=True)

    def _write(self, mode: str) -> None:
        path, query = self._asked()
        if query["op"] == "MKDIRS":
            path.mkdir(parents=True, exist_ok=True)
            return self._json({"boolean": True})
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "here" not in query:
            host, port = self.server.server_address[:2]
            return self._answer(307, b"", location=f"http://{host}:{port}{self.path}&here=1")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(body)
        return self._answer(201 if mode == "wb" else 200, b"")

    def _asked(self) -> tuple[Path, dict[str, str]]:
        parts = urlsplit(self.path)
        path = unquote(parts.path).removeprefix(PREFIX).strip("/")
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return self.root / path, {**query, "op": query["op"].upper()}

    def _json(self, value: object) -> None:
        self._answer(200, json.dumps(value).encode())

    def _refuse(self, code: int, kind: str, text: str) -> None:
        error = {"RemoteException": {"exception": kind, "message": text}}
        self._answer(code, json.dumps(error).encode())

    def _answer(self, code: int, data: bytes, *, location: str = "") -> None:
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _status(path: Path, name: str) -> dict[str, object]:
    kind = "DIRECTORY" if path.is_dir() else "FILE"
    size = 0 if path.is_dir() else path.stat().st_size
    return {"pathSuffix": name, "type": kind, "length": size, "modificationTime": 0}
