"""A real nginx with the configuration of deploy/, in front of a server."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.files import DEPLOY
from tests.support.eventually import eventually
from tests.support.ports import find_free_port

BINARY = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_MAIN = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/callboard.conf;
}}
"""
_OWN_NAME = DEPLOY / "nginx" / "callboard.conf"


@dataclass(frozen=True)
class Nginx:
    plain: str
    secure: str
    certificate: Path
    log: Path


@contextmanager
def run_nginx(folder: Path, port: int, *, below_a_path: bool = False) -> Iterator[Nginx]:
    """Serves the server at `port` under a name of its own, or below /callboard/ of another site."""
    assert BINARY is not None
    folder.mkdir()
    certificate = make_certificate(folder)
    for name in ("callboard-proxy.conf", "callboard-problems.conf", "callboard-subpath.conf"):
        shutil.copy(DEPLOY / "nginx" / name, folder)
    plain, secure = find_free_port(), find_free_port()
    ports = {
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{secure} ssl http2;",
        "server 127.0.0.1:8000;": f"server 127.0.0.1:{port};",
    }
    text = _replace(_OWN_NAME.read_text(), ports)
    if below_a_path:
        begin = text.index("    include /etc/nginx/callboard/callboard-problems.conf;")
        text = text[:begin] + "    include /etc/nginx/callboard/callboard-subpath.conf;\n}\n"
    (folder / "callboard.conf").write_text(text)
    for file in folder.glob("*.conf"):
        file.write_text(file.read_text().replace("/etc/nginx/callboard/", f"{folder}/"))
    main = folder / "nginx.conf"
    main.write_text(_MAIN.format(folder=folder, user="user root;" if os.geteuid() == 0 else ""))
    command = [BINARY, "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(main)]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "[warn]" not in checked.stderr
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pid = folder / "nginx.pid"  # the check has left an empty one
        eventually(lambda: pid.exists() and pid.read_text(), what="nginx has started")
        path = "/callboard" if below_a_path else ""
        yield Nginx(f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{secure}{path}", certificate, folder / "error.log")
    finally:
        process.terminate()
        process.wait(20)


def _replace(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def make_certificate(folder: Path) -> Path:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
            *("-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "fullchain.pem"


def trust(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))
