"""Alerts, dashboard and documentation name the metrics that are exported, and no others."""

import json
import re

import yaml
from prometheus_client import CollectorRegistry

from broker.metrics import measurements
from state.metrics.snapshot import Snapshot
from taskapi.metrics import requests
from taskapi.metrics.system import SystemCollector
from taskapi.resources import prometheus  # noqa: F401  (declares the gauge of streams)
from tests.docs.documents import ROOT, read, read_tables

MONITORING = ROOT / "deploy" / "monitoring"
ALERTS = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
PAGE = read("docs/monitoring.md")
RUNBOOK = read("docs/runbook.md")

_EMPTY = Snapshot({}, [], [], [], [], 0, False, 0)


def list_exported() -> dict[str, tuple[str, list[str]]]:
    """Returns type and labels of each metric."""
    system = CollectorRegistry()
    system.register(SystemCollector(_EMPTY))
    found: dict[str, tuple[str, list[str]]] = {}
    for family in system.collect():
        found[family.name] = (family.type, list(getattr(family, "_labelnames", ())))
    for registry in (requests.REGISTRY, measurements.REGISTRY):
        for collector in list(registry._collector_to_names):
            name = getattr(collector, "_name", None)
            if name is not None:
                found[name] = (collector._type, list(collector._labelnames))  # type: ignore[attr-defined]
    return found


def find_names(expression: str) -> set[str]:
    """Returns the names of the metrics in an expression, without the suffixes of counters and histograms."""
    return {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in re.findall(r"callboard_\w+", expression)}


def test_every_metric_is_documented() -> None:
    rows = read_tables(PAGE, "| name | type | labels | meaning |")
    documented = {name: (kind, [part.strip() for part in labels.split(",") if part]) for name, kind, labels, _ in rows}
    assert documented == list_exported()


def test_alerts_and_dashboard_use_metrics_that_exist() -> None:
    expressions = [rule["expr"] for rule in ALERTS]
    expressions += [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    used = set[str]().union(*map(find_names, expressions))
    assert used <= list_exported().keys()
    assert len(used) > 15


def test_every_alert_says_what_to_do() -> None:
    rows = read_tables(PAGE, "| alert | what it means | what to do |")
    assert [row[0] for row in rows] == [rule["alert"] for rule in ALERTS]
    assert all(rule["annotations"]["summary"] for rule in ALERTS)


def test_every_alert_has_its_section_in_the_runbook() -> None:
    sections = dict(re.findall(r"(?ms)^## (\w+)\n(.*?)(?=^## |\Z)", RUNBOOK))
    assert list(sections) == [rule["alert"] for rule in ALERTS]
    for rule in ALERTS:
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert "```sh\n" in sections[rule["alert"]]  # what to type
