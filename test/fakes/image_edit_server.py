"""A server of `images/edits` on this machine that edits the image for real: it tints a corner."""

import base64
import email.parser
import email.policy
import http.server
import io
import json
import threading

import numpy as np
from PIL import Image


def tinted(picture):
    """Return the picture with its upper left quarter red."""
    done = picture.copy()
    half = len(picture) // 2
    done[:half, :half] = (220, 30, 30)
    return done


def image_file(picture, kind='PNG'):
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, kind)
    return stream.getvalue()


def answered(image, **more):
    text = base64.b64encode(image).decode()
    return 200, json.dumps({'created': 1, 'data': [{'b64_json': text}], **more})


class Form:
    """A request as the server got it: headers, fields, and images in their order."""

    def __init__(self, headers, body):
        self.headers = dict(headers)
        head = f'Content-Type: {headers["Content-Type"]}\r\n\r\n'.encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        self.fields, self.images, self.names = {}, [], []
        for part in message.iter_parts():
            name = part.get_param('name', header='Content-Disposition')
            if part.get_filename():
                opened = Image.open(io.BytesIO(part.get_payload(decode=True)))
                self.images.append(np.array(opened.convert('RGB')))
                self.names.append(name)
            else:
                self.fields[name] = part.get_payload(decode=True).decode()


class ImageEditServer(http.server.ThreadingHTTPServer):
    """Answers `respond(form)`: (status, text) or (status, text, headers), 'hang' or 'cut'."""

    daemon_threads = True

    def __init__(self, respond=None):
        super().__init__(('127.0.0.1', 0), _Handler)
        self.respond = respond or (lambda form: answered(image_file(tinted(form.images[-1]))))
        self.forms = []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self):
        return f'http://127.0.0.1:{self.server_address[1]}/v1'

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.closing.set()
        self.shutdown()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = Form(self.headers, self.rfile.read(int(self.headers['Content-Length'])))
        form.path = self.path
        server = self.server
        with server.lock:
            server.forms.append(form)
            answer = server.respond(form)
        if answer == 'hang':
            server.closing.wait(60)
            return
        if answer == 'cut':
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"da')
            return
        status, text, headers = (*answer, {})[:3]
        self.send_response(status)
        self.send_header('Content-Length', str(len(text.encode())))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass
