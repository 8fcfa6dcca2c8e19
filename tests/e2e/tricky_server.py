"""A web server on this machine that also misbehaves."""

import contextlib
import http.server
import re
import threading


class Server:
    """Serves `files`; `tricks` holds one misbehaviour per request to come, None for none."""

    def __init__(self):
        self.files, self.tricks, self.requests, self.etags, self.ranges = {}, [], [], True, True
        self.halfway = threading.Event()  # half a file has been sent
        self.release = threading.Event()  # a stalled answer may end
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}/"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.release.set()
        self.http.shutdown()
        self.http.server_close()

    def answer(self, handler):
        self.requests.append((handler.path, handler.headers.get("Range"), handler.headers.get("If-Range")))
        trick = self.tricks.pop(0) if self.tricks else None
        if isinstance(trick, str):
            handler.send_response(302)
            handler.send_header("Location", trick)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if isinstance(trick, int) or handler.path not in self.files:
            handler.send_response(trick or 404)
            handler.send_header("Content-Length", "9")
            handler.end_headers()
            handler.wfile.write(b"no such..")
            return
        body = self.files[handler.path]
        etag = f'"{hash(body)}"'
        start, wanted, guard = 0, handler.headers.get("Range"), handler.headers.get("If-Range")
        if wanted and self.ranges and guard in (None, etag):
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1))
        if start and start >= len(body):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(body)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if self.etags:
            handler.send_header("ETag", etag)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            if trick in (cut, stall):
                handler.wfile.write(body[start:(start + len(body)) // 2])
                handler.wfile.flush()
                self.halfway.set()
                if trick is stall:
                    self.release.wait(60)
                handler.close_connection = True
            else:
                handler.wfile.write(body[start:])


def cut():
    """The connection ends in the middle."""


def stall():
    """Nothing comes after the middle."""
