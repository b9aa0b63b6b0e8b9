"""Hosts on one machine: each has a network of its own (a namespace with one interface), a name, and a cable to a switch
(a bridge) that can be pulled. Root only."""

import os
import secrets
import shutil
import subprocess
from contextlib import suppress

_PREFIX = "10.99.0"
_RENAME = 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"'  # workers of one host know each other by its name


def why_not() -> str | None:
    """Returns why this process cannot make hosts."""
    if os.geteuid() != 0:
        return "only root may make networks"
    if missing := [each for each in ("ip", "nsenter", "unshare") if shutil.which(each) is None]:
        return f"there is no {missing[0]} (Debian, Ubuntu: apt install iproute2 util-linux)"
    try:
        with Network() as network:
            network.add_host("try")
    except subprocess.CalledProcessError as refused:
        return f"this machine makes no networks: {refused.stderr.strip()}"
    return None


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Host:
    def __init__(self, switch: str, name: str, number: int) -> None:
        self.name = name
        self.address = f"{_PREFIX}.{number}"
        self.namespace = f"{switch}-{number}"
        self._switch, self._port = switch, f"port{number}"
        _ip("netns", "add", self.namespace)
        _ip("-n", switch, "link", "add", self._port, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        self.mend()
        _ip("-n", switch, "link", "set", self._port, "up")
        _ip("-n", self.namespace, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", self.namespace, "link", "set", device, "up")

    @property
    def enter(self) -> list[str]:
        """The command that starts another one on this host."""
        network = ["nsenter", f"--net=/run/netns/{self.namespace}"]
        return [*network, "unshare", "--uts", "sh", "-c", _RENAME, self.name]

    def cut(self) -> None:
        """Whatever is sent to or from the host vanishes; nobody is told."""
        _ip("-n", self._switch, "link", "set", self._port, "nomaster")

    def mend(self) -> None:
        _ip("-n", self._switch, "link", "set", self._port, "master", "bridge0")


class Network:
    """The switch has an address as well, for servers that all hosts reach."""

    address = f"{_PREFIX}.1"

    def __init__(self) -> None:
        self._name = f"cb{secrets.token_hex(4)}"
        self._hosts: list[Host] = []

    @property
    def enter(self) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self._name}"]

    def __enter__(self) -> "Network":
        _ip("netns", "add", self._name)
        try:
            _ip("-n", self._name, "link", "add", "bridge0", "type", "bridge")
            _ip("-n", self._name, "addr", "add", f"{self.address}/24", "dev", "bridge0")
            for device in ("lo", "bridge0"):
                _ip("-n", self._name, "link", "set", device, "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def add_host(self, name: str) -> Host:
        host = Host(self._name, name, len(self._hosts) + 10)
        self._hosts.append(host)
        return host

    def __exit__(self, *_: object) -> None:
        for namespace in [*(f"{self._name}-{number + 10}" for number in range(len(self._hosts) + 1)), self._name]:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", namespace)
