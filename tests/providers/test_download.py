"""Downloads that go well, and the many ways in which they do not."""

import asyncio
import gzip
import hashlib
import subprocess
import sys
import textwrap
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from providers import blocking
from providers import download as downloads
from providers.download import DownloadPolicy
from providers.errors import ProviderError
from tests.providers.media import download
from tests.providers.servers.raw import RawServer, respond
from tests.support.eventually import eventually

Script = Callable[[socket], object]
Fetch = Callable[..., Any]  # the download, or its error


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    """Download what a script sends; after an error nothing may be left in the folder."""

    def run(script: Script, path: str = "/x.png", **policy: Any) -> Any:
        with RawServer(script) as server:
            try:
                return download(f"{server.origin}{path}", tmp_path, DownloadPolicy(trust(server), **policy))
            except ProviderError as error:
                assert list(tmp_path.iterdir()) == []
                return error

    return run


def trust(server: RawServer) -> frozenset[str]:
    return frozenset({f"127.0.0.1:{server.port}"})


def forever(connection: socket, piece: bytes, head: bytes = b"HTTP/1.1 200 OK\r\n", pause: float = 0.0) -> None:
    connection.sendall(head)
    pacer = threading.Event()
    while True:
        connection.sendall(piece)
        if pause:
            pacer.wait(pause)


def test_a_download_arrives_whole(fetch: Fetch, image: bytes, tmp_path: Path) -> None:
    found = fetch(respond(image, "Content-Type: image/png", f"Content-Length: {len(image)}"), "/../../etc/passwd")
    assert found.path.parent == tmp_path
    assert found.path.name.startswith("download-")
    assert found.path.read_bytes() == image
    assert (found.size, found.media_type) == (len(image), "image/png")
    assert found.sha256 == hashlib.sha256(image).hexdigest()


def test_a_compressed_one_is_decompressed(fetch: Fetch, image: bytes) -> None:
    found = fetch(respond(gzip.compress(image), "Content-Type: image/png", "Content-Encoding: gzip"))
    assert found.path.read_bytes() == image


def test_the_content_decides_when_the_header_says_another_allowed_type_or_nothing(fetch: Fetch, image: bytes) -> None:
    for header in ("Content-Type: image/webp", "Content-Type: application/octet-stream", "X-Nothing: x"):
        assert fetch(respond(image, header)).media_type == "image/png"


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (b"<html><body>Sorry", "Content-Type: image/png"),
        (b"<html><body>Sorry", "Content-Type: text/html"),
        (b"\x89PNG\r\n\x1a\n rest", "Content-Type: text/html"),
        (b"%PDF-1.7", "Content-Type: application/octet-stream"),
        (b"", "Content-Type: image/png"),
    ],
)
def test_what_is_no_media_is_refused(fetch: Fetch, body: bytes, header: str) -> None:
    assert fetch(respond(body, header)).type == "ServerError"


def test_only_the_types_asked_for(fetch: Fetch, image: bytes) -> None:
    error = fetch(respond(image, "Content-Type: image/png"), media_types=frozenset({"video/mp4"}))
    assert "image/png" in str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("404 Not Found", "NotFound"),
        ("403 Forbidden", "PermissionDenied"),
        ("429 Too Many", "RateLimited"),
        ("500 Oops", "ServerError"),
        ("503 Later", "ServiceUnavailable"),
        ("206 Partial Content", "ProviderError"),
        ("304 Not Modified", "ProviderError"),
    ],
)
def test_other_statuses(fetch: Fetch, image: bytes, status: str, kind: str) -> None:
    assert fetch(respond(image, "Content-Type: image/png", "Retry-After: 3", status=status)).type == kind


def test_a_length_that_lies(fetch: Fetch, image: bytes) -> None:
    assert fetch(respond(image, f"Content-Length: {len(image) + 10}")).type == "NetworkTimeout"
    assert fetch(respond(image, f"Content-Length: {len(image) - 10}")).size == len(image) - 10


def test_too_large_by_its_own_account(fetch: Fetch, image: bytes) -> None:
    error = fetch(respond(image, "Content-Length: 10000000000"), max_bytes=1000)
    assert (error.type, str(error)) == ("InvalidInput", "The download is larger than 1000 bytes")


@pytest.mark.parametrize("head", ["Content-Length: 10", "Content-Encoding: gzip", "Transfer-Encoding: chunked"])
def test_nonsense_in_the_body(fetch: Fetch, head: str) -> None:
    assert fetch(respond(b"zz\r\nnonsense", head)).type in ("NetworkTimeout", "ServerError")


def test_an_endless_body_is_cut_at_the_cap(fetch: Fetch, image: bytes) -> None:
    error = fetch(lambda connection: forever(connection, image, b"HTTP/1.1 200 OK\r\n\r\n"), max_bytes=1_000_000)
    assert error.type == "InvalidInput"


def test_a_gzip_bomb_is_cut_at_the_cap(fetch: Fetch, image: bytes) -> None:
    bomb = gzip.compress(image + bytes(50_000_000))
    error = fetch(respond(bomb, "Content-Encoding: gzip", f"Content-Length: {len(bomb)}"), max_bytes=1_000_000)
    assert error.type == "InvalidInput"


@pytest.mark.parametrize("header", ["Content-Encoding: gzip, gzip", "Content-Encoding: gzip\r\nContent-Encoding: gzip"])
@pytest.mark.parametrize("status", ["200 OK", "404 Not Found"])
def test_what_is_compressed_twice_is_not_unpacked(fetch: Fetch, image: bytes, header: str, status: str) -> None:
    twice = gzip.compress(gzip.compress(image))
    error = fetch(respond(twice, "Content-Type: image/png", header, status=status))
    assert (error.type, str(error)) == ("ServerError", "The answer is compressed more than once")


def _empty_blocks() -> bytes:
    packer = zlib.compressobj(wbits=31)
    packer.compress(b"")
    return packer.flush(zlib.Z_SYNC_FLUSH)[-5:]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(lambda connection: forever(connection, b"X: y\r\n", pause=0.05), id="headers"),
        pytest.param(lambda connection: forever(connection, b"a", b"HTTP/1.1 200 OK\r\n\r\n", 0.05), id="body"),
        pytest.param(
            lambda connection: forever(
                connection,
                _empty_blocks(),
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\3",
                0.01,
            ),
            id="a body that unpacks to nothing",
        ),
        pytest.param(lambda connection: connection.recv(1), id="hangs"),
    ],
)
def test_the_time_is_bounded_in_total(fetch: Fetch, script: Script) -> None:
    began = time.monotonic()
    error = fetch(script, max_seconds=0.5)
    assert error.type == "NetworkTimeout"
    assert time.monotonic() - began < 5


def test_a_cut_at_the_deadline_does_not_look_like_the_end(fetch: Fetch, image: bytes) -> None:
    error = fetch(lambda connection: forever(connection, image, b"HTTP/1.1 200 OK\r\n\r\n", 0.05), max_seconds=0.5)
    assert str(error) == "It took longer than 0.5 s"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="Cannot store"):
        download("https://example.com/x.png", tmp_path / "missing", DownloadPolicy())


def in_a_process_of_its_own(body: str) -> str:
    """Returns the output of a script, which has a server and the arguments of a download at hand."""
    script = f"""
import os, resource, sys, tempfile
from pathlib import Path
from providers import blocking
from providers import download as downloads
from providers.download import DownloadPolicy
from providers.errors import ProviderError
from tests.providers.media import download
from tests.providers.servers.raw import RawServer, respond
folder = Path(tempfile.mkdtemp())
{textwrap.dedent(body)}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_leaves_no_partial_file() -> None:
    printed = in_a_process_of_its_own("""
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with RawServer(respond(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(1_000_000))) as server:
            try:
                download(server.origin, folder, DownloadPolicy(frozenset({f"127.0.0.1:{server.port}"})))
            except ProviderError as error:
                print(error.type, error.category, error, os.listdir(folder))
        folder.rmdir()
    """)
    assert printed.strip() == "ProviderError unknown Cannot store the download: File too large []"


def test_memory_stays_flat() -> None:
    """200 MB in a body, and as many in a bomb, while the server (which makes them) runs elsewhere."""
    size = 200_000_000

    def large(connection: socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n")
        for _ in range(size // 1_000_000):
            connection.sendall(bytes(1_000_000))

    bomb = gzip.compress(b"\x89PNG\r\n\x1a\n" + bytes(size), 1)
    with RawServer(large) as body, RawServer(respond(bomb, "Content-Encoding: gzip")) as packed:
        printed = in_a_process_of_its_own(f"""
            policy = DownloadPolicy({trust(body) | trust(packed)!r}, max_bytes=1_000_000_000)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for url in ({body.origin!r}, {packed.origin!r}):
                found = download(url, folder, policy)
                print(found.size)
                found.path.unlink()
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
            folder.rmdir()
        """)
    first, second, grown = map(int, printed.split())
    assert first == second == size + 8
    assert grown < 30_000, "kilobytes"


def test_a_canceled_download_leaves_no_partial_file(tmp_path: Path, image: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n" + image
    with RawServer(lambda connection: forever(connection, bytes(100_000), head, 0.01)) as server:
        downloading = asyncio.run_coroutine_threadsafe(
            downloads.download(server.origin, tmp_path, DownloadPolicy(trust(server))), blocking._get_loop()
        )
        eventually(lambda: any(file.stat().st_size for file in tmp_path.iterdir()))
        downloading.cancel()
        eventually(lambda: not list(tmp_path.iterdir()))
