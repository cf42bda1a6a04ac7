"""The model's service, or a gateway to it, as the broker reaches it: address, proxy, certificates, key."""

import base64
import contextlib
import ssl
from functools import cached_property
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from os import environ
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

OAUTH_BETA = "oauth-2025-04-20"


class Upstream:
    """The Messages API, or a gateway to it, with the key."""

    def __init__(self, url: str, api_key: str | None, oauth_token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
            raise ValueError(f"{url!r} is not the http(s) address of a model service")
        self._tls = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._tls else 80)
        self._root = parts.path.rstrip("/")
        self._proxy, self._proxy_headers = _proxy_for(parts.scheme, parts.hostname)
        if self._proxy and not self._tls:  # a proxy is asked for whole addresses
            self._root = f"http://{parts.netloc}{self._root}"
        self._api_key, self._oauth_token = api_key, oauth_token

    @cached_property
    def _context(self) -> ssl.SSLContext:
        """Trust what the machine trusts, and the certificates that its usual variables name."""
        context = ssl.create_default_context()
        if not any(ssl.get_default_verify_paths()[:2]):  # python.org's Python for macOS brings none
            import certifi  # noqa: PLC0415  costs 20 ms, and is hardly ever needed

            context.load_verify_locations(certifi.where())
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
            if name in environ:
                kind = "capath" if Path(environ[name]).is_dir() else "cafile"
                context.load_verify_locations(**{kind: environ[name]})
        return context

    def connect(self) -> HTTPConnection:
        """A new connection for one request."""
        host, port = self._proxy or (self._host, self._port)
        if self._tls:
            connection: HTTPConnection = HTTPSConnection(host, port, timeout=30, context=self._context)
            if self._proxy:
                connection.set_tunnel(self._host, self._port, self._proxy_headers)
        else:
            connection = HTTPConnection(host, port, timeout=30)
        connection.connect()
        connection.sock.settimeout(600)  # a long answer that isn't streamed takes minutes
        return connection

    def ask(self, connection: HTTPConnection, target: str, headers: dict[str, str], body: bytes) -> HTTPResponse:
        """Send the request with the key in it."""
        if self._api_key:
            headers["x-api-key"] = self._api_key
        else:
            headers["authorization"] = f"Bearer {self._oauth_token}"
            betas = [beta for beta in headers.get("anthropic-beta", "").split(",") if beta]
            headers["anthropic-beta"] = ",".join(dict.fromkeys([*betas, OAUTH_BETA]))
        if not self._tls:
            headers |= self._proxy_headers
        with contextlib.suppress(BrokenPipeError):  # it may have answered before it had read everything
            connection.request("POST", self._root + target, body, headers)
        return connection.getresponse()


def _proxy_for(scheme: str, host: str) -> tuple[tuple[str, int] | None, dict[str, str]]:
    proxies = getproxies()
    url = proxies.get(scheme) or proxies.get("all")
    if not url or host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None, {}
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError(f"only proxies with an http:// address can be used, not {parts.scheme}://")
    headers = {}
    if parts.username:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        headers["proxy-authorization"] = f"Basic {base64.b64encode(login).decode()}"
    return (parts.hostname, parts.port or 80), headers
