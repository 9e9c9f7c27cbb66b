"""The web server of the viewer: pages and messages for this machine's browser, and for no other web page.

Browsers let any page open a WebSocket to a loopback port and send what it likes. So a request is answered only if it
names this machine (a name that an attacker's DNS points here is refused), and a WebSocket is opened only for a page
that this server served. Pages may not be shown inside others, where clicks could be stolen.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import logging
import os
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from stickslip.errors import InputError, MissingDependencyError, StickslipError

if TYPE_CHECKING:
    import viser
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

LOOPBACK = "127.0.0.1"
FIRST_PORT, PORTS = 8080, 100
"""Where a server listens if nobody says: the first free port from here on."""
PAGE_HEADERS = {
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STYLE = b"""<style>
@media (max-width: 36em) {
  div[style*="bottom: 0"][style*="width: 20em"] { width: 100% !important; max-height: 45% !important; }
  div[style*="bottom: 0"] div[style*="width: 20em"] { width: 100% !important; }
}
</style>"""
"""On phones viser's panel is as narrow as on laptops; here it has the width of the screen."""
SCRIPT = b"""<script>{
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    if (type === "pointerdown" && options?.passive) options = { ...options, passive: false };
    return listen.call(this, type, listener, options);
  };
}</script>"""
"""viser's page prevents what browsers do by themselves when a body is dragged, but listens in a way that forbids it:
without this every drag would log an error."""
HEAD = 4_000_000
"""Bytes of a page within which its head ends."""
_CONSTRUCTION = threading.Lock()
"""One server is made at a time: a function of another package is replaced meanwhile."""

Reply = Callable[["ServerConnection", "Request"], "Response | None"]


class ServerError(StickslipError, RuntimeError):
    """The viewer cannot be served safely."""


class HostError(InputError):
    """The host to listen on is not this machine."""


def guarded_server(host: str = LOOPBACK, port: int = 0) -> viser.ViserServer:
    """A running server that only its own pages can drive; port 0 takes 8080 or the next free one.

    A port that is taken, or a host that is not this machine, raises an InputError.
    """
    try:
        import rich
        import viser
        import websockets.asyncio.server as served
        from viser import _messages
    except ImportError as error:
        raise MissingDependencyError(
            f"the viewer needs viser ({error.name} is missing); install it with: pip install 'stickslip[view]'"
        ) from None
    if not 0 <= port <= 65535:
        raise InputError(f"port is {port}; it must be between 1 and 65535, or 0 for the next free one")
    asked = port if port else free_port(host)
    _require_free(host, asked)
    guarded: list[Reply] = []

    def serve(*arguments: Any, **options: Any) -> Any:
        options["process_request"] = guard(options.get("process_request"), host)
        options["logger"] = _silent()
        guarded.append(options["process_request"])
        return original(*arguments, **options)

    with _CONSTRUCTION, quiet_viser(rich):
        original = served.serve
        served.serve = serve
        try:
            server = viser.ViserServer(host=host, port=asked, label="stickslip", verbose=False)
        finally:
            served.serve = original
    if not guarded:
        stop_server(server)
        raise ServerError(
            f"viser {viser.__version__} opens its port in a way that cannot be guarded; install viser 1.1"
        )
    if server.get_port() != asked:
        stop_server(server)
        raise InputError(f"port {asked} of {host} was taken just now; give another one")
    # what a page sent stands in it, and would go to the terminal as it is
    warnings.filterwarnings("ignore", r"\[viser\] ", UserWarning)
    loop = server._websock_server._background_event_loop
    if loop is not None:
        loop.call_soon_threadsafe(loop.set_exception_handler, _one_line())
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        # a page could ask for a tunnel through a machine of others
        server._websock_server.unregister_handler(message)
    server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium")
    server.gui.main_panel.dock_right()
    return server


def _silent() -> logging.Logger:
    """A logger that says nothing: who sends bytes that are no messages is disconnected, and that is all."""
    logger = logging.getLogger("stickslip.view.server")
    logger.disabled = True
    return logger


def _one_line() -> Callable[[Any, dict[str, Any]], None]:
    """What hears of messages that cannot be handled: it says so once, in one line."""
    said: list[str] = []

    def hear(_loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not said:
            said.append(type(error).__name__)
            print(f"viewer: a message of a page was not understood ({said[0]}); it is passed over", file=sys.stderr)

    return hear


def page_url(server: viser.ViserServer) -> str:
    """Where a browser on this machine finds the page."""
    host = server.get_host()
    if host in ("0.0.0.0", "::", ""):
        host = LOOPBACK if host != "::" else "::1"
    return f"http://[{host}]:{server.get_port()}" if ":" in host else f"http://{host}:{server.get_port()}"


def stop_server(server: viser.ViserServer) -> None:
    """Close the port; connected pages say that they lost it."""
    import rich

    with quiet_viser(rich):
        server.stop()


def guard(reply: Reply | None, host: str) -> Reply:
    """What answers a request in place of ``reply``: 403 to those that do not belong here, else the same with headers
    that keep its pages out of frames."""
    names = own_names(host)

    def answer(connection: ServerConnection, request: Request) -> Response | None:
        wrong = refusal(request.headers.get_all("Host"), names)
        if wrong is not None:
            return connection.respond(HTTPStatus.FORBIDDEN, wrong)
        if "Accept-Encoding" in request.headers:
            del request.headers["Accept-Encoding"]  # the page is changed below
        response = None if reply is None else reply(connection, request)
        if response is None:  # a WebSocket will be opened
            wrong = foreign(request.headers.get_all("Host"), request.headers.get_all("Origin"))
            if wrong is not None:
                return connection.respond(HTTPStatus.FORBIDDEN, wrong)
            return None
        if b"</head>" in response.body[:HEAD]:
            response.body = response.body.replace(b"<head>", b"<head>" + SCRIPT, 1)
            response.body = response.body.replace(b"</head>", STYLE + b"</head>", 1)
            del response.headers["Content-Length"]
            response.headers["Content-Length"] = str(len(response.body))
        for name, value in PAGE_HEADERS.items():
            response.headers[name] = value
        return response

    return answer


def own_names(host: str) -> frozenset[str]:
    """Names by which pages may address this server, beside numerical addresses."""
    return frozenset(name.lower() for name in ("localhost", socket.gethostname(), socket.getfqdn(), host) if name)


def refusal(hosts: list[str], names: frozenset[str]) -> str | None:
    """Why a request with these Host headers is not answered; None if it is."""
    if len(hosts) != 1:
        return f"stickslip: {len(hosts)} Host headers; one is needed\n"
    name = _host_name(hosts[0])
    if name in names or _is_address(name):
        return None
    return f"stickslip: {name!r} is no name of this machine; open the address that `stickslip view` printed\n"


def foreign(hosts: list[str], origins: list[str]) -> str | None:
    """Why a WebSocket from a page of these origins is not opened; None if the page is one of ours."""
    if len(origins) == 1 and origins[0].lower() in (f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")):
        return None
    return "stickslip: only a page that this server served may drive it; the Origin header is another or missing\n"


def free_port(host: str) -> int:
    """The first free port from FIRST_PORT on."""
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        try:
            _require_free(host, port)
        except HostError:
            raise  # no port will do
        except InputError:
            continue
        return port
    raise InputError(f"no port of {host} is free between {FIRST_PORT} and {FIRST_PORT + PORTS - 1}; give one")


@contextlib.contextmanager
def quiet_viser(rich: Any) -> Iterator[None]:
    """Keep viser from printing its own banner and farewell."""
    printed = rich.print
    rich.print = lambda *_arguments, **_options: None
    try:
        yield
    finally:
        rich.print = printed


def _require_free(host: str, port: int) -> None:
    """Raise an InputError unless a server could listen there; viser would silently take another port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise HostError(f"host {host!r} is unknown; it must be an address or a name of this machine") from None
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers of asyncio do
            try:
                probe.bind(address)
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    raise HostError(
                        f"host {host!r} is another machine; it must be an address or a name of this one"
                    ) from None
                reason = error.strerror or str(error)
                raise InputError(f"port {port} of {host} cannot be listened on ({reason}); give another one") from None


def _host_name(header: str) -> str:
    """The name in a Host header, without the port and the brackets of an IPv6 address."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
