"""A TCP proxy in front of a server: it loses answers, cuts connections, and lets the server be replaced."""

import socket
import threading
from contextlib import suppress


class Proxy:
    """Listens on one port for as long as the test lasts; `target` may change."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.lost = 0
        self._lose_next = False
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()

    def lose_next_answer(self) -> None:
        """The next request reaches the server; when its answer arrives here, the connection to the client is cut."""
        self._lose_next = True

    def cut(self) -> None:
        """Cuts all connections that there are now."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._close(*pair)

    def count(self) -> int:
        return len(self._pairs)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, 5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._pairs.add((client, server))
            threading.Thread(target=self._copy, args=(client, server, client, server), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client, client, server), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if source is server and self._lose_next:
                    self._lose_next = False
                    self.lost += 1
                    break
                sink.sendall(data)
        self._close(client, server)

    def _close(self, *pair: socket.socket) -> None:
        with self._lock:
            self._pairs.discard((pair[0], pair[1]))
        for end in pair:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
