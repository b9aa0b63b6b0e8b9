"""Without API keys only programs of this machine are served: by the connection, and directly."""

from itertools import product

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from state.database.errors import DatabaseUnavailable
from taskapi.guard.network import NetworkGuard, find_stranger, is_local_name
from tests.guard.small_app import SmallApp, send_to
from tests.taskapi.problems import expect_problem

LOOPBACK = ["127.0.0.1", "127.8.7.6", "::1", "::ffff:127.0.0.1"]
ELSEWHERE = [
    "10.0.0.5",
    "192.0.2.10",
    "0.0.0.0",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "::ffff:10.0.0.5",
    "testserver",
    "localhost",
    "",
]


def make_scope(server: object, client: object, *headers: tuple[str, str], version: str = "1.1") -> Scope:
    raw = [(name.lower().encode(), value.encode()) for name, value in (("Host", "localhost:8000"), *headers)]
    return {"type": "http", "http_version": version, "server": server, "client": client, "headers": raw}


def test_both_ends_of_the_connection_must_be_loopback() -> None:
    for server, client in product(LOOPBACK + ELSEWHERE, LOOPBACK + ELSEWHERE):
        stranger = find_stranger(make_scope((server, 8000), (client, 50_000)))
        assert (stranger is None) == (server in LOOPBACK and client in LOOPBACK), (server, client)
        if stranger is not None:
            assert stranger.token == "local-only"
            assert "callboard keys create" in stranger.detail


def test_a_connection_without_addresses() -> None:
    unix = ("/run/callboard.sock", None)
    assert find_stranger(make_scope(unix, None)) is None
    for server, client in [(None, None), (None, ("127.0.0.1", 1)), (("127.0.0.1", 80), None), (unix, ("10.0.0.5", 1))]:
        assert find_stranger(make_scope(server, client)) is not None
    forwarded = make_scope(unix, None, ("X-Forwarded-For", "10.0.0.5"))
    assert find_stranger(forwarded) is not None  # nginx may also speak to a Unix socket


@pytest.mark.parametrize("name", [
    "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded", "X-Real-IP",
    "X-Client-IP", "X-Original-Forwarded-For", "X-Original-Host", "X-Envoy-External-Address", "X-Cluster-Client-IP",
    "X-ProxyUser-IP", "X-Azure-ClientIP", "CF-Connecting-IP", "CF-Connecting-IPv6", "True-Client-IP", "Fly-Client-IP",
    "Fastly-Client-IP", "Client-IP", "CDN-Loop",
])  # fmt: skip
def test_a_forwarded_request_is_refused(name: str) -> None:
    small = SmallApp()
    for value in ("127.0.0.1", "10.0.0.5", ""):
        document = expect_problem(small.connect().get("/api/v1/tasks", headers={name: value}), 403, "local-only")
        assert name.lower() in document["detail"]
    assert small.passed == []


@pytest.mark.parametrize(
    "name", ["X-Request-ID", "X-Requested-With", "User-Agent", "Idempotency-Key", "Viable", "CF-Ray"]
)
def test_other_headers_are_nothing_of_a_proxy(name: str) -> None:
    assert SmallApp().connect().get("/api/v1/tasks", headers={name: "1"}).status_code == 200


def test_a_request_has_one_host() -> None:
    for hosts in ([], ["localhost", "localhost"], ["localhost", "example.com"]):
        scope = make_scope(("127.0.0.1", 80), ("127.0.0.1", 1))
        scope["headers"] = [(b"host", host.encode()) for host in hosts]
        stranger = find_stranger(scope)
        assert stranger is not None
        assert stranger.token == "misdirected-request"


def test_http_1_0_is_what_nginx_speaks_by_default() -> None:
    stranger = find_stranger(make_scope(("127.0.0.1", 80), ("127.0.0.1", 1), version="1.0"))
    assert stranger is not None
    assert stranger.token == "local-only"


def test_only_local_names_are_local() -> None:
    local = ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:8000", "[::1]", "[::1]:8000"]
    assert [name for name in local if not is_local_name(name)] == []
    foreign = [
        "example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1", "0.0.0.0", "[::]", "", "[::1",
        "localhost:", "evil@localhost", "localhost/..", "localhost:80:80", "127.0.0.1\\@example.com", "2130706433",
        "testserver", "localhost.", "127.0.0.1 ",
    ]  # fmt: skip
    assert [name for name in foreign if is_local_name(name)] == []


@pytest.mark.parametrize("path", ["/", "/api/v1/tasks", "/readyz", "/nothing", "/api/v1/tasks/"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE", "NONSENSE"])
def test_strangers_are_refused_on_every_path(method: str, path: str) -> None:
    small = SmallApp()
    rebound = small.connect().request(method, path, headers={"Host": "rebound.example.com"})
    remote = small.connect(client="192.0.2.10").request(method, path)
    twice = small.connect().request(method, path, headers=[("Host", "localhost"), ("Host", "example.com")])
    assert (rebound.status_code, remote.status_code, twice.status_code) == (421, 403, 421)
    assert small.passed == []


def test_with_keys_address_and_host_do_not_matter() -> None:
    small = SmallApp(keyed=True)
    remote = small.connect("https://callboard.example.com", "192.0.2.10")
    for _ in range(3):
        assert remote.get("/api/v1/tasks", headers={"X-Forwarded-For": "10.0.0.5", "Via": "1.1 proxy"}).is_success
    assert small.access.asked == 1  # keys stay


def test_the_first_key_opens_the_server() -> None:
    small = SmallApp()
    remote = small.connect(client="192.0.2.10")
    expect_problem(remote.get("/"), 403, "local-only")
    small.access.keyed = True
    assert remote.get("/").is_success


def test_a_stranger_may_ask_whether_the_process_lives() -> None:
    """The kubelet does, and restarts a server that says no: before the first key as well."""
    small = SmallApp()
    assert small.connect(client="192.0.2.10").get("/livez").status_code == 200
    assert small.access.asked == 0


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_a_database_that_does_not_answer_restarts_no_server(path: str) -> None:
    """Whether there are keys is unknown then. Nothing but the sign of life is given to a stranger."""

    async def fail(_: Scope) -> bool:
        raise DatabaseUnavailable("no answer")

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})

    scope = {**make_scope(("10.0.0.1", 80), ("10.0.0.5", 1)), "path": path}
    if path == "/livez":
        assert len(anyio.run(send_to, NetworkGuard(answer, fail), scope)) == 1
    else:
        with pytest.raises(DatabaseUnavailable):
            anyio.run(send_to, NetworkGuard(answer, fail), scope)
