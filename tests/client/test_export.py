"""An export gets every task once, whatever happens to its connections."""

import json

import httpx2
import pytest

from state import submit
from state.tasks import export
from taskclient import InvalidRequest
from taskclient.lines import LineSplitter
from tests.client.conftest import Connect
from tests.client.proxy import Proxy
from tests.taskapi.running import RunningServer


def test_an_export_goes_on_after_cuts(
    connect_to: Connect, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "TASKS", 4)
    ids = [submit("anything", {"text": "x" * 20_000, "line": "\u2028"}).task_id for _ in range(60)]
    got: list[str] = []
    with Proxy(server.address) as proxy:
        client = connect_to(proxy.url)
        for line in client.export(tenant=None):
            task = json.loads(line)
            assert (task["payload"]["line"], len(task["events"])) == ("\u2028", 1)
            got.append(task["task_id"])
            if len(got) in (1, 20, 40):
                proxy.cut()
        assert got == ids
        assert [json.loads(line)["task_id"] for line in client.export(after=ids[-2])] == ids[-1:]
        with pytest.raises(InvalidRequest, match="id of a task"):
            list(client.export(after="x"))


def test_lines_end_at_line_feeds_only() -> None:
    splitter = LineSplitter()
    text = "a\u2028b\r\x85\nc\n".encode()
    frames = [frame.data for each in range(len(text)) for frame in splitter.split(text[each : each + 1])]
    assert frames == ["a\u2028b\r\x85", "c"]
    splitter.end()
    assert list(splitter.split(b"half")) == []
    with pytest.raises(httpx2.RemoteProtocolError):
        splitter.end()
