"""Where a download may go: a canary listens at every place where it may not."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from providers import guarded
from providers.download import DownloadPolicy
from providers.errors import PermissionDenied, ProviderError
from providers.settings import DownloadSettings, list_wrong_variables
from tests.providers.media import download, upload
from tests.providers.servers.raw import RawServer, respond

Tls = tuple[ssl.SSLContext, ssl.SSLContext]  # of a server, and of a client that trusts it

PNG = b"\x89PNG\r\n\x1a\n and so on"


@pytest.fixture
def canary() -> Iterator[RawServer]:
    """Nobody may ever come here."""
    with RawServer(respond(PNG, "Content-Type: image/png")) as server:
        yield server
        assert server.connections == 0


class Answers:
    """A resolver with one answer after the other; the last one repeats."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        return [self._addresses[min(len(self.asked), len(self._addresses)) - 1]]


def refused(url: str, folder: Path, **policy: Any) -> str:
    with pytest.raises(PermissionDenied) as caught:
        download(url, folder, DownloadPolicy(**policy))
    assert list(folder.iterdir()) == []
    return str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0",
        "127.0.0.2",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
    ],
)
def test_loopback_however_it_is_written(canary: RawServer, scheme: str, host: str, tmp_path: Path) -> None:
    refused(f"{scheme}://{host}:{canary.port}/x.png", tmp_path)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "0.0.0.0",
        "168.63.129.16", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254",
    ],
)  # fmt: skip
def test_a_name_that_leads_inside(
    canary: RawServer, address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says where it leads; the error, which the submitter sees, does not."""
    resolver = Answers(address)
    message = refused(f"https://pictures.example:{canary.port}/x.png", tmp_path, resolver=resolver)
    assert message == "pictures.example is not on the public internet"
    assert caplog.messages == [f"refused to connect to pictures.example: {address}"]
    assert resolver.asked == [("pictures.example", canary.port)]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/x.png", "ftp://example.com/x", "file:///etc/passwd", "data:image/png;base64,A", "//x",
        "x.png", "", "https:///x", "https://user:pass@example.com/x", "gopher://127.0.0.1/",
    ],
)  # fmt: skip
def test_only_https_with_a_host_and_no_user(url: str, tmp_path: Path) -> None:
    refused(url, tmp_path, resolver=Answers("127.0.0.1"))


@pytest.mark.parametrize("url", ["https://a b.example/", "https://[::1", "https://a.example:99999/"])
def test_urls_that_are_none(url: str, tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        download(url, tmp_path, DownloadPolicy(resolver=Answers("127.0.0.1")))
    assert caught.value.category == "permanent"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "inside.example"])
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_checked_like_the_first_url(canary: RawServer, status: str, host: str, tmp_path: Path) -> None:
    location = f"Location: https://{host}:{canary.port}/x.png"

    def resolver(name: str, port: int) -> list[str]:
        return ["127.0.0.1"] if name == "inside.example" else guarded.resolve(name, port)

    with RawServer(respond(b"", location, status=status)) as server:
        trusted = frozenset({f"127.0.0.1:{server.port}"})
        refused(server.origin, tmp_path, trusted_hosts=trusted, resolver=resolver)
    assert server.connections == 1


def test_a_redirect_may_be_relative_but_not_endless(tls: Tls, internet: None, tmp_path: Path) -> None:
    server_context, client_context = tls

    def script(connection: socket) -> None:
        if b"/end.png" in server.requests[-1]:
            respond(PNG)(connection)
        elif b"/round" in server.requests[-1]:
            respond(b"", "Location: round", status="302 Found")(connection)
        else:
            respond(b"", "Location: ../end.png?a=b", status="302 Found")(connection)

    with RawServer(script, "127.0.0.5", tls=server_context) as server:
        origin = f"https://pictures.example:{server.port}"
        policy = DownloadPolicy(resolver=Answers("127.0.0.5"), verify=client_context)
        assert download(f"{origin}/a/b", tmp_path, policy).size == len(PNG)
        with pytest.raises(ProviderError, match="redirected more than 5 times"):
            download(f"{origin}/round", tmp_path, policy)
        assert server.connections == 2 + 6


def test_a_trusted_host_is_not_trusted_after_a_redirect(tmp_path: Path) -> None:
    with RawServer(respond(b"", "Location: /x.png", status="302 Found")) as server:
        refused(server.origin, tmp_path, trusted_hosts=frozenset({f"127.0.0.1:{server.port}"}))
    assert server.connections == 1


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """A certificate for pictures.example, and the context of a client that knows it."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    names = "-addext subjectAltName=DNS:pictures.example -keyout key.pem -out cert.pem"
    subprocess.run([*command.split(), *names.split()], cwd=folder, check=True, capture_output=True)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return server, ssl.create_default_context(cafile=folder / "cert.pem")


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.5 plays the public internet."""
    monkeypatch.setattr(guarded, "is_public", lambda address: address == "127.0.0.5")


def test_a_name_that_changes_its_mind_is_resolved_once(
    canary: RawServer, tls: Tls, internet: None, tmp_path: Path
) -> None:
    server_context, client_context = tls
    names: list[str | None] = []
    server_context.sni_callback = lambda _socket, name, _context: names.append(name)
    resolver = Answers("127.0.0.5", "127.0.0.1")
    script = respond(PNG, "Content-Type: image/png")
    with RawServer(script, "127.0.0.5", canary.port, server_context) as server:
        url = f"https://pictures.example:{server.port}/x.png"
        found = download(url, tmp_path, DownloadPolicy(resolver=resolver, verify=client_context))
        assert found.size == len(PNG)
        assert len(resolver.asked) == 1
        assert names == ["pictures.example"]
        assert f"Host: pictures.example:{server.port}\r\n".encode() in server.requests[0]
        found.path.unlink()
        refused(url, tmp_path, resolver=resolver)  # now it leads inside


def test_the_certificate_must_be_of_the_name_that_was_asked_for(tls: Tls, internet: None, tmp_path: Path) -> None:
    server_context, client_context = tls
    with RawServer(respond(PNG), "127.0.0.5", tls=server_context) as server:
        for name, context in (("other.example", client_context), ("pictures.example", None)):
            options: dict[str, Any] = {"verify": context} if context else {}
            policy = DownloadPolicy(resolver=Answers("127.0.0.5"), **options)
            with pytest.raises(ProviderError, match="CERTIFICATE_VERIFY_FAILED"):
                download(f"https://{name}:{server.port}/x.png", tmp_path, policy)


def test_the_next_address_is_tried_when_one_does_not_answer(
    canary: RawServer, tls: Tls, internet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_context, client_context = tls
    monkeypatch.setattr(guarded, "is_public", lambda address: address in ("127.0.0.4", "127.0.0.5"))
    with RawServer(respond(PNG), "127.0.0.5", canary.port, server_context) as server:
        addresses = ["127.0.0.1", "127.0.0.4", "127.0.0.5"]
        policy = DownloadPolicy(resolver=lambda host, port: addresses, verify=client_context)
        assert download(f"https://pictures.example:{server.port}/x.png", tmp_path, policy).size == len(PNG)


def test_proxies_of_the_environment_are_not_asked(
    canary: RawServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(variable, canary.origin)
    with RawServer(respond(PNG)) as server:
        download(server.origin, tmp_path, DownloadPolicy(frozenset({f"127.0.0.1:{server.port}"})))


def test_trusted_hosts_come_from_the_environment_with_their_ports(
    canary: RawServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer(respond(PNG)) as server:
        monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", f" 127.0.0.1:{server.port}, minio:9000 ,")
        assert DownloadSettings().trusted == {f"127.0.0.1:{server.port}", "minio:9000"}
        assert download(server.origin, tmp_path).size == len(PNG)
    with pytest.raises(PermissionDenied):
        download(canary.origin, tmp_path)


@pytest.mark.parametrize("hosts", ["minio", "minio:9000, other", ":80", "minio:http"])
def test_a_trusted_host_needs_a_port(hosts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", hosts)
    [line] = list_wrong_variables()
    assert "needs a port" in line


def test_an_upload_is_checked_like_a_download(canary: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (canary.origin, f"https://localhost:{canary.port}/x", "ftp://example.com/x"):
        with pytest.raises(PermissionDenied):
            upload(url, "storage", 5.0, data={"key": "x"}, files={"file": ("image", PNG, "image/png")})
    with RawServer(respond(b"", status="204 No Content")) as server:
        monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", f"127.0.0.1:{server.port}")
        upload(server.origin, "storage", 5.0, data={"key": "x"}, files={"file": ("image", PNG, "image/png")})
    assert server.requests[0].startswith(b"POST / HTTP/1.1\r\n")
    with RawServer(respond(b"", f"Location: {canary.origin}", status="307 Temporary")) as server:
        monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", f"127.0.0.1:{server.port}")
        with pytest.raises(ProviderError):
            upload(server.origin, "storage", 5.0, content=PNG)


def test_a_host_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="is not known"):
        download("https://no-such-host.invalid/x.png", tmp_path, DownloadPolicy())
