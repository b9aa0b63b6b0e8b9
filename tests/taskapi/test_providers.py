"""Providers over HTTP: their actions, their availability, and previews."""

import httpx2
import pytest

from tests.taskapi.problems import expect_problem

PREVIEW = "/api/v1/providers/{}/preview"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEONARDO_API_KEY", "MIDJOURNEY_BASE_URL", "MIDJOURNEY_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_list(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = client.get("/api/v1/providers").json()["items"]
    found = {(each["kind"], each["name"]): each for each in listed}
    assert len(found) == len(listed)
    local, leonardo = found["media", "local"], found["media", "leonardo"]
    assert (local["available"], local["missing"]) == (True, None)
    assert (leonardo["available"], leonardo["missing"]) == (False, "LEONARDO_API_KEY")
    assert leonardo["limits"]["concurrency"] == 3
    assert found["media", "midjourney"]["limits"]["concurrency"] == 1
    action = local["actions"]["txt2img"]
    assert action["needs_prompt"] is True
    assert action["params"]["type"] == "object"
    assert "width" in action["params"]["properties"]
    assert found["language", "local"]["available"] is True
    remote = next(each for (kind, name), each in found.items() if kind == "language" and name != "local")
    assert (remote["available"], remote["missing"], remote["actions"]) == (False, "OPENROUTER_API_KEY", {})
    monkeypatch.setenv("LEONARDO_API_KEY", "swordfish")
    answer = client.get("/api/v1/providers")
    assert "swordfish" not in answer.text
    assert [each["missing"] for each in answer.json()["items"] if each["name"] == "leonardo"] == [None]


def test_preview(client: httpx2.Client) -> None:
    body = {"action_type": "txt2img", "params": {"width": 64, "height": 128, "count": 2}}
    answer = client.post(PREVIEW.format("local"), json=body)
    assert answer.status_code == 200, answer.text
    preview = answer.json()
    assert (preview["provider"], preview["action_type"]) == ("local", "txt2img")
    assert (preview["width"], preview["height"], preview["count"], preview["cost"]) == (64, 128, 2, 0)
    assert preview["expected_seconds"] > 0
    assert client.post(PREVIEW.format("leonardo"), json={"action_type": "txt2img"}).json()["cost"] is None


def test_bad_previews(client: httpx2.Client) -> None:
    good = {"action_type": "txt2img", "params": {}}
    for name in ("nobody", "%00", "Local"):
        document = expect_problem(client.post(PREVIEW.format(name), json=good), 404, "unknown-provider")
        assert "leonardo" in document["known"]
    for body, field in (
        ({"action_type": "fly", "params": {}}, "action_type"),
        ({"params": {}}, "action_type"),
        ({"action_type": 1}, "action_type"),
        ({**good, "params": []}, "params"),
        ({**good, "params": {"width": -1}}, "params.width"),
        ({**good, "params": {"width": 10**400}}, "params.width"),
        ({**good, "params": {"nonsense": 1}}, "params.nonsense"),
        ({**good, "prompt": "a lighthouse"}, "prompt"),
    ):
        expect_problem(client.post(PREVIEW.format("local"), json=body), 422, "invalid-input", field=field)
    expect_problem(client.post(PREVIEW.format("local")), 400, "empty-body")
