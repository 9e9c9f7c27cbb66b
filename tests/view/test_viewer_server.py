"""The web server of the viewer answers its own pages and refuses others."""

import contextlib
import http.client
import socket
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install 'stickslip[view]'")

import msgspec
import viser
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from stickslip.errors import InputError
from stickslip.view.web import guarded_server as guarded
from stickslip.view.web.guarded_server import foreign, guarded_server, own_names, page_url, refusal, stop_server


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    made = guarded_server()
    yield made
    stop_server(made)


def get(server: Any, headers: dict[str, str]) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.get_port(), timeout=60)
    connection.putrequest("GET", "/", skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    return response


def open_socket(server: Any, origin: str | None, headers: dict[str, str] | None = None) -> None:
    address = f"ws://127.0.0.1:{server.get_port()}"
    protocols = [f"viser-v{viser.__version__}"]
    options: Any = {"subprotocols": protocols, "additional_headers": headers, "max_size": None}
    with connect(address, origin=origin, **options) as opened:
        assert opened.recv(timeout=60)


def test_it_listens_on_loopback_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    made = guarded_server()
    assert made.get_host() == "127.0.0.1"
    assert page_url(made) == f"http://127.0.0.1:{made.get_port()}"
    stop_server(made)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_pages_cannot_be_framed(server: Any) -> None:
    response = get(server, {"Host": f"127.0.0.1:{server.get_port()}"})
    assert response.status == 200
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""])
def test_other_hosts_are_refused(server: Any, host: str) -> None:
    assert get(server, {"Host": host}).status == 403


def test_a_request_without_host_is_not_served(server: Any) -> None:
    assert get(server, {}).status in (400, 403)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", socket.gethostname()])
def test_own_names_are_served(server: Any, name: str) -> None:
    assert get(server, {"Host": f"{name}:{server.get_port()}"}).status == 200


def test_a_page_of_ours_opens_a_socket(server: Any) -> None:
    open_socket(server, page_url(server))


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost", None])
def test_other_origins_cannot_open_a_socket(server: Any, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as refused:
        open_socket(server, origin)
    assert refused.value.response.status_code == 403
    assert b"only a page that this server served" in refused.value.response.body


@pytest.mark.parametrize("upgrade", ["WebSocket", "WEBSOCKET", "websocket"])
def test_no_spelling_of_upgrade_passes_without_origin(server: Any, upgrade: str) -> None:
    headers = {
        "Host": f"127.0.0.1:{server.get_port()}", "Upgrade": upgrade, "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version": "13",
    }  # fmt: skip
    assert get(server, headers).status != 101


def test_a_page_cannot_ask_for_a_tunnel(server: Any) -> None:
    from viser import _messages

    handlers = server._websock_server._incoming_handlers
    assert _messages.ShareUrlRequest not in handlers
    assert _messages.ShareUrlDisconnect not in handlers


def test_what_is_no_message_leaves_no_traceback(
    server: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Texts, bytes that are no message, messages of unknown kinds and with wrong values; the server goes on."""
    address, origin = f"ws://127.0.0.1:{server.get_port()}", f"http://127.0.0.1:{server.get_port()}"
    given: list[str | bytes] = ["text", b"", b"\xff\xfe", b"\x80", msgspec.msgpack.encode({"type": "Nothing"})]
    given += [msgspec.msgpack.encode(value) for value in ([1], {"type": 1}, {"type": "GuiUpdateMessage"})]
    wrong = {"type": "GuiUpdateMessage", "uuid": "x", "updates": {"value": "x"}}
    view = {"type": "ViewerCameraMessage", "wxyz": "x", "position": [1], "fov": None, "look_at": 1, "up_direction": {}}
    given += [msgspec.msgpack.encode(value) for value in (wrong, view, {**wrong, "uuid": [1]}, {**wrong, "updates": 1})]
    for data in given:
        options: Any = {"subprotocols": [f"viser-v{viser.__version__}"], "max_size": None}
        with contextlib.suppress(ConnectionClosed), connect(address, origin=origin, **options) as opened:
            opened.send(data)
            opened.recv(timeout=60)
    for start in (b"\0" * 64, b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n"):
        with socket.create_connection(("127.0.0.1", server.get_port()), timeout=60) as raw:
            raw.sendall(start)
            raw.shutdown(socket.SHUT_WR)
            raw.recv(100)
    open_socket(server, origin)
    said = capfd.readouterr().err + caplog.text  # what is logged goes to the terminal where nobody collects it
    assert "Traceback" not in said
    assert said.count("\n") <= 1


def test_a_server_that_cannot_be_guarded_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    import websockets.asyncio.server as served

    made = served.serve

    def start_unseen(self: Any) -> None:
        # as if another version of viser kept a reference of its own
        replaced, served.serve = served.serve, made
        try:
            original(self)
        finally:
            served.serve = replaced

    original = viser.infra.WebsockServer.start
    monkeypatch.setattr(viser.infra.WebsockServer, "start", start_unseen)
    with pytest.raises(guarded.ServerError, match="cannot be guarded"):
        guarded_server()


def test_a_taken_port_is_an_error_unless_nobody_asked_for_it(server: Any) -> None:
    with pytest.raises(InputError, match=f"port {server.get_port()} of 127.0.0.1 cannot be listened on"):
        guarded_server(port=server.get_port())
    other = guarded_server()
    assert other.get_port() != server.get_port()
    stop_server(other)


@pytest.mark.parametrize(("host", "port"), [("no such host", 0), ("127.0.0.1", 70000), ("8.8.8.8", 0)])
def test_wrong_addresses(host: str, port: int) -> None:
    with pytest.raises(InputError):
        guarded_server(host, port)


@pytest.mark.parametrize(("host", "what"), [("nosuch.invalid", "unknown"), ("192.0.2.1", "another machine")])
def test_the_host_is_named_and_not_its_ports(host: str, what: str) -> None:
    with pytest.raises(InputError, match=f"'{host}' is {what}"):
        guarded_server(host, 0)


def test_rules_for_names_and_origins() -> None:
    names = own_names("box.local")
    assert refusal(["BOX.local:80"], names) is None
    assert refusal(["192.168.0.7:9000"], names) is None
    assert refusal(["a", "b"], names) is not None
    assert refusal(["box.local.evil.example"], names) is not None
    assert foreign(["box.local:80"], ["http://BOX.local:80"]) is None
    assert foreign(["box.local:80"], ["https://box.local:80"]) is None
    assert foreign(["box.local:80"], ["http://box.local"]) is not None
    assert foreign(["box.local:80"], ["http://box.local:80", "http://evil.example"]) is not None
