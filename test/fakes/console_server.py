"""A console on a free port of this machine, with an operator that keeps what it was asked for."""

import threading
from concurrent.futures import Future

import httpx

from structrl_ros.console.gate import COOKIE
from structrl_ros.console.live_state import LiveState
from structrl_ros.console.operator import Answer
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.console.serving import ConsoleServer
from structrl_ros.console.serving import Place
from structrl_ros.console.viewers import Viewers


class NotingOperator:
    """An operator of no robot: `asked` holds (action, arguments); `answer` is given to all."""

    def __init__(self):
        self.asked = []
        self.answer = Answer(True, 'as you wish')

    def __getattr__(self, action):
        if action.startswith('_'):
            raise AttributeError(action)

        def note(*arguments):
            self.asked.append((action, arguments))
            future = Future()
            if self.answer is not None:
                future.set_result(self.answer)
            return future

        return note


class RunningConsole:
    """Serves in a thread until it is closed; use as a context manager."""

    def __init__(self, operator=None, state=None, shelf=None, **place):
        self.operator = operator or NotingOperator()
        self.state = state or LiveState()
        self.shelf = shelf or PictureShelf()
        self.viewers = Viewers(self.state, self.shelf)
        self.server = ConsoleServer(Place(**{'port': 0, **place}), self.operator, self.viewers)
        self.url = self.server.url.rstrip('/')
        self._thread = threading.Thread(target=self.server.run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.server.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def client(self, **headers):
        """Return a client without a session, that says it is a page of the console."""
        return httpx.Client(
            base_url=self.url, headers={'origin': self.url, **headers}, timeout=60.0, verify=False
        )

    def page(self):
        """Return a client with a session and its secret."""
        with self.client() as first:
            told = first.get('/session')
            cookies = first.cookies
        client = self.client(**{'x-structrl-csrf': told.json()['csrf']})
        client.cookies = cookies
        return client

    def cookie(self):
        """Return the Cookie header of a new session."""
        return f'{COOKIE}={self.page().cookies[COOKIE]}'
