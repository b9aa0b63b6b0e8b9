"""A wrong setting ends the program with a text that names the variable and says what to set."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from state.settings import SettingsError, get_settings


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("PORT", "80000", "less than or equal to 65535"),
        ("PULSE_SECONDS", "20", "a third of CALLBOARD_LEASE_SECONDS"),
        ("LEASE_SECONDS", "inf", "finite"),
        ("TOKEN_LIMIT", "many", "valid integer"),
        ("SANDBOX", "chroot", "'auto', 'isolated'"),
        ("SANDBOX_FOLDERS", "/usr,lib/python", "'lib/python' must be an absolute path"),
        ("CONTENTS_URL", "http://bucket", "s3://"),
        ("LOG_LEVEL", "loud", "debug|info|warning|error"),
    ],
)
def test_a_wrong_setting_is_refused(name: str, value: str, complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"CALLBOARD_{name}", value)
    with pytest.raises(SettingsError) as refused:
        get_settings()
    assert f"CALLBOARD_{name}: " in str(refused.value)
    assert complaint in str(refused.value)


def test_settings_of_providers_are_checked_when_a_process_starts() -> None:
    wrong = {"OPENROUTER_TIMEOUT": "soon", "CALLBOARD_DOWNLOAD_MAX_SECONDS": "inf"}
    started = subprocess.run(
        [sys.executable, "-c", "import actors"], env={**os.environ, **wrong}, capture_output=True, text=True, timeout=60
    )
    assert started.returncode == 1
    assert "Traceback" not in started.stderr
    assert "OPENROUTER_TIMEOUT: Input should be a valid number" in started.stderr
    assert "CALLBOARD_DOWNLOAD_MAX_SECONDS: Input should be a finite number" in started.stderr


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_SANDBOX", "")
    monkeypatch.setenv("CALLBOARD_SANDBOX_FOLDERS", "/opt/python, /srv/models,")
    assert get_settings().sandbox == "auto"
    assert get_settings().sandbox_folders == ["/opt/python", "/srv/models"]
