"""An HTTP server of the chat API that refuses, hangs, errs and answers as a list says."""

from __future__ import annotations

import http.server
import json
import threading


def chat(text: str) -> tuple[int, str]:
    """Return the answer of a server with this text in it."""
    return 200, json.dumps({'choices': [{'message': {'content': text}}]})


class ChatServer(http.server.ThreadingHTTPServer):
    """Gives the answers of a list in order, the last one for ever; keeps the requests.

    An answer is (status, text), or 'hang' (silent until the server ends), or 'cut'.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, *answers: object, port: int = 0) -> None:
        super().__init__(('127.0.0.1', port), _Handler)
        self.answers = list(answers)
        self.requests: list[tuple[str, dict, dict]] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return self.server_address[1]

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.port}/v1'

    def __enter__(self) -> ChatServer:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers['Content-Length']))
        server = self.server
        server.requests.append((self.path, dict(self.headers), json.loads(body)))
        answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
        if answer == 'hang':
            server.ended.wait(30.0)
            return
        if answer == 'cut':
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"choi')
            return
        status, text = answer
        self.send_response(status)
        self.send_header('Content-Length', str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments: object) -> None:
        pass
