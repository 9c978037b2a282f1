"""Serve a public trace on a local server, for ``fetch`` in its own process.

``python -m tests.faults.dataset_server BYTES WORD …`` is ``philly WORD …`` with a limit on memory.
"""

import hashlib
import json
import random
import re
import resource
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

from tests.support.files import packed

_BLOCK = 1 << 16
_PAUSE_S = 0.002
_DIGESTS = "dataset.json"


def serve(folder: Path) -> str:
    """Serve a trace of two archives for as long as this process runs, and return its address."""
    folder.mkdir()
    rng = random.Random(1)
    for n in range(2):
        rows = b"".join(b"%d,%s\n" % (row, rng.randbytes(40).hex().encode()) for row in range(9000))
        (folder / f"{n}.tar.gz").write_bytes(packed({f"cluster0{n}.csv": rows}))
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()
    }
    (folder / _DIGESTS).write_text(json.dumps(digests))

    class Handler(BaseHTTPRequestHandler):
        """Sends a file slowly, from the requested offset."""

        def do_GET(self) -> None:
            data = (folder / Path(self.path).name).read_bytes()
            span = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(span[1]) if span else 0
            self.send_response(206 if span else 200)
            if span:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            try:
                for at in range(start, len(data), _BLOCK):
                    self.wfile.write(data[at : at + _BLOCK])
                    time.sleep(_PAUSE_S)
            except OSError:
                pass  # the client was killed

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def register(words: list[str]) -> None:
    """Add the served dataset to the catalogue if the command is ``fetch``."""
    if words[0] != "fetch":
        return
    from philly_analysis.ingest.downloads import catalogue
    from philly_analysis.ingest.downloads.http_file import RemoteFile

    with urlopen(words[-1] + _DIGESTS) as answer:  # noqa: S310 - the local server
        digests = json.load(answer)
    files = tuple(RemoteFile(name, words[-1] + name, sha256) for name, sha256 in digests.items())
    one = catalogue.Dataset(words[1], "", "", "table", files, map="itp-2021", unpack=True)
    catalogue.published = lambda: {one.name: one}  # type: ignore[assignment]


def _main() -> None:
    from philly_analysis.cli import app

    most, *words = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (int(most), int(most)))
    sys.argv = ["philly", *words]
    register(words)
    app()


if __name__ == "__main__":
    _main()
