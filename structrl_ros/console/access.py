"""Who may talk to the console: by which name, from which page, with which secret.

- The Host header must name this server. Without that, a page of a foreign name that was rebound
  to this address (DNS rebinding) would count as our own.
- A WebSocket, and whatever changes something, must come from a page of this server: the Origin
  header must be there and equal scheme and Host; a Sec-Fetch-Site header must not contradict.
- Whatever changes something also carries a secret that only a page of this server can have read
  (CSRF), bound to the session's cookie.
- With a token, a session begins with the token; without one, on the loopback address alone, with
  the first look at the page.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import stat
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import ParameterError

TOKEN_VARIABLE = 'STRUCTRL_CONSOLE_TOKEN'
SHORTEST_TOKEN = 16
LOOPBACK = ('127.0.0.1', 'localhost', '::1')
_WILDCARDS = ('0.0.0.0', '::')
_HOST = re.compile(r'(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?')


@dataclass(frozen=True, slots=True)
class HostRule:
    """Names that a Host header may give; `any_address`: also every numeric address."""

    names: frozenset[str]
    any_address: bool = False

    def refusal(self, header: str) -> str:
        """Return why a Host header is refused, '' if it is not."""
        found = _HOST.fullmatch(header.strip().lower())
        if found is None:
            return 'the Host header is missing or malformed'
        name = found['name'].strip('[]')
        if name in self.names or (self.any_address and _is_address(name)):
            return ''
        return f'host {name!r} is not a name of this console; add it with --allow-host'


def host_rule(bound: str, also: Sequence[str] = ()) -> HostRule:
    """Return the rule of a server that is bound to an address or name.

    Raises:
        ParameterError: If one of `also` is no plain host name.
    """
    for name in also:
        if not re.fullmatch(r'[A-Za-z0-9.:-]+', name):
            raise ParameterError(f'--allow-host {name!r}: give a host name, without port or path')
    names = {*LOOPBACK, bound.lower(), *(name.lower() for name in also)}
    return HostRule(frozenset(names - set(_WILDCARDS)), any_address=bound in _WILDCARDS)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    return host == 'localhost' or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def origin_refusal(headers: Mapping[str, str], scheme: str) -> str:
    """Return why a request is not from a page of this server, '' if it is.

    Args:
        headers: By lower-case name.
        scheme: 'http' or 'https', as the page was served.
    """
    origin = headers.get('origin', '')
    if not origin:
        return 'the Origin header is missing'
    if origin.lower() != f'{scheme}://{headers.get("host", "").strip().lower()}':
        return f'origin {origin!r} is not this console'
    if headers.get('sec-fetch-site', 'same-origin') != 'same-origin':
        return 'the browser says that the request comes from another site'
    return ''


class Sessions:
    """Cookies and CSRF secrets, without a store: both are signed with one key.

    With a token the key follows from it, so that a session outlives a restart of the console.
    """

    def __init__(self, token: str = '') -> None:
        """Begin; an empty token asks for none."""
        self._token = token
        self._key = secrets.token_bytes(32)
        if token:
            self._key = hmac.new(token.encode(), b'structrl console', hashlib.sha256).digest()

    @property
    def needs_token(self) -> bool:
        """Whether a session begins with the token alone."""
        return bool(self._token)

    def is_token(self, word: str) -> bool:
        """Return whether a word is the token, in the same time for every wrong one."""
        return self.needs_token and hmac.compare_digest(word.encode(), self._token.encode())

    def open(self) -> str:
        """Return the cookie of a new session."""
        name = secrets.token_urlsafe(18)
        return f'{name}.{self._sign("session", name)}'

    def is_open(self, cookie: str) -> bool:
        """Return whether a cookie is one of ours."""
        name, _, signature = cookie.partition('.')
        wanted = self._sign('session', name)
        return bool(name) and hmac.compare_digest(signature.encode(), wanted.encode())

    def csrf(self, cookie: str) -> str:
        """Return the secret that the pages of a session send with what changes something."""
        return self._sign('csrf', cookie)

    def is_csrf(self, cookie: str, word: str) -> bool:
        """Return whether a word is the secret of a session."""
        return hmac.compare_digest(word.encode(), self.csrf(cookie).encode())

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f'{purpose}:{text}'.encode(), hashlib.sha256).hexdigest()


def read_token(path: Path | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the token of a file, else of the environment, else ''.

    Raises:
        ParameterError: If the file cannot be read, others may read it, or the token is too short.
    """
    token, source = environment.get(TOKEN_VARIABLE, ''), f'variable {TOKEN_VARIABLE}'
    if path is not None:
        source = f'token file {path}'
        try:
            mode = path.stat().st_mode
            token = path.read_text(encoding='utf-8').strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, 'strerror', None) or 'is no text'
            raise ParameterError(f'{source}: {why}') from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ParameterError(f'{source}: others may read it; chmod 600 it')
    elif not token:
        return ''
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise ParameterError(
            f'{source}: the token must have at least {SHORTEST_TOKEN} printable ASCII characters'
        )
    return token


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
