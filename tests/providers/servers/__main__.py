"""`python -m tests.providers.servers`: all of them, as lines for the environment, until Ctrl-C."""

import contextlib
import signal
import sys

from tests.providers.servers import ChatServer, LeonardoServer, MidjourneyServer, chat, leonardo, midjourney


def main() -> None:
    with (
        LeonardoServer(seconds=6) as leonardo_server,
        MidjourneyServer(seconds=10, can_cancel=True) as midjourney_server,
        ChatServer(seconds=0.1) as chat_server,
    ):
        hosts = [f"127.0.0.1:{server.port}" for server in (leonardo_server, midjourney_server)]
        print(f"LEONARDO_BASE_URL={leonardo_server.base_url}")
        print(f"LEONARDO_API_KEY={leonardo.KEY}")
        print(f"MIDJOURNEY_BASE_URL={midjourney_server.base_url}")
        print(f"MIDJOURNEY_API_KEY={midjourney.SECRET}")
        print(f"OPENROUTER_BASE_URL={chat_server.base_url}")
        print(f"OPENROUTER_API_KEY={chat.KEY}")
        print(f"CALLBOARD_DOWNLOAD_TRUSTED_HOSTS={','.join(hosts)}")
        sys.stdout.flush()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


main()
