"""The manifests: valid by the schemas of Kubernetes, and true of the code: names, ports, commands, settings."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from state.settings import Settings
from taskapi.app import OPERATIONS
from tests.deploy.files import DEPLOY, list_queues, read_documents
from tests.deploy.image import find_last, read_environment_of, read_stages
from tests.docs.test_monitoring import find_names, list_exported

FOLDER = DEPLOY / "kubernetes"
BASE = FOLDER / "base"
OVERLAY = FOLDER / "overlays" / "example"
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((BASE / "kustomization.yaml").read_text())
RESOURCES = [document for name in KUSTOMIZATION["resources"] for document in read_documents(BASE / name)]
ADAPTER = yaml.safe_load((FOLDER / "prometheus-adapter.yaml").read_text())["rules"]["external"]
_VERSIONS = ("1.31", "1.34")
_RENDERER = next(
    (command for command in (["kustomize", "build"], ["kubectl", "kustomize"]) if shutil.which(command[0])), None
)


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    return [each for each in RESOURCES if each["kind"] in kinds]


def list_pods() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields each resource that has pods, and its pod template."""
    for each in of_kind("Deployment", "Job"):
        yield each, each["spec"]["template"]


WORKERS = [
    each
    for each in of_kind("Deployment")
    if "dramatiq" in each["spec"]["template"]["spec"]["containers"][0].get("args", [])
]


@pytest.mark.parametrize("version", _VERSIONS)
def test_the_schemas_of_kubernetes(version: str) -> None:
    for each in [*RESOURCES, *read_documents(OVERLAY / "namespace.yaml")]:
        kubernetes_validate.validate(each, version, strict=True)
    broken = {**RESOURCES[-1], "spec": {"rule": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, version, strict=True)


def test_all_files_are_used() -> None:
    assert {path.name for path in BASE.glob("*.yaml")} == {*KUSTOMIZATION["resources"], "kustomization.yaml"}
    overlay = yaml.safe_load((OVERLAY / "kustomization.yaml").read_text())
    for patch in overlay["patches"]:
        target = patch["target"]
        [found] = [each for each in of_kind(target["kind"]) if each["metadata"]["name"] == target["name"]]
        for change in yaml.safe_load(patch["patch"]):
            value: Any = found
            for part in change["path"].strip("/").split("/"):
                value = value[int(part) if part.isdigit() else part]
    assert overlay["images"][0]["name"] == KUSTOMIZATION["images"][0]["newName"]


@pytest.mark.skipif(_RENDERER is None, reason="there is no kustomize and no kubectl")
def test_kustomize_renders_the_overlay() -> None:
    assert _RENDERER is not None
    rendered = subprocess.run([*_RENDERER, str(OVERLAY)], capture_output=True, text=True)
    assert rendered.returncode == 0, rendered.stderr
    documents = list(yaml.safe_load_all(rendered.stdout))
    for each in documents:
        kubernetes_validate.validate(each, _VERSIONS[-1], strict=True)
        assert each["kind"] == "Namespace" or each["metadata"]["namespace"] == "callboard"
    assert "image: callboard\n" not in rendered.stdout
    assert "s3://acme-callboard" in rendered.stdout


def test_selectors_match_the_labels_of_the_pods() -> None:
    labels = [template["metadata"]["labels"] for _, template in list_pods()]
    selectors = [
        *(each["spec"]["selector"]["matchLabels"] for each in of_kind("Deployment", "PodDisruptionBudget")),
        *(each["spec"]["selector"] for each in of_kind("Service")),
        *(each["spec"]["podSelector"]["matchLabels"] for each in of_kind("NetworkPolicy")),
    ]
    for selector in selectors:
        assert any(selector.items() <= each.items() for each in labels), selector
    for selector in (each["spec"]["selector"]["matchLabels"] for each in of_kind("Deployment", "PodDisruptionBudget")):
        assert len([each for each in labels if selector.items() <= each.items()]) == 1, selector
    names = {each["metadata"]["name"] for each in of_kind("Deployment")}
    assert {each["spec"]["scaleTargetRef"]["name"] for each in of_kind("HorizontalPodAutoscaler")} < names
    for each in of_kind("HorizontalPodAutoscaler"):  # replicas there would be set back at each apply
        [scaled] = [w for w in WORKERS if w["metadata"]["name"] == each["spec"]["scaleTargetRef"]["name"]]
        assert "replicas" not in scaled["spec"]


def test_ports_and_probes() -> None:
    last = read_stages()[1]
    exposed = set(map(int, find_last(last, "EXPOSE").value.split()))
    routes = {path for operation in OPERATIONS for path in operation.paths} | {"/metrics"}
    for _, template in list_pods():
        [container] = template["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        assert set(ports.values()) <= exposed
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            if name in container:
                assert container[name]["httpGet"]["port"] in ports
                assert container[name]["httpGet"]["path"] in routes
    assert str(8000) in find_last(last, "CMD").words
    assert f"CALLBOARD_METRICS_PORT={9464}" in KUSTOMIZATION["configMapGenerator"][1]["literals"]
    [service] = of_kind("Service")
    assert service["spec"]["ports"][0]["targetPort"] == "http"
    [ingress] = of_kind("Ingress")
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert backend == {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}
    limit = f"{Settings.model_fields['max_body_bytes'].default // 1024**2}m"
    assert {value for key, value in ingress["metadata"]["annotations"].items() if "body-size" in key} == {limit}


def test_commands_and_variables_are_those_of_the_image() -> None:
    literals = {line.split("=")[0] for each in KUSTOMIZATION["configMapGenerator"] for line in each["literals"]}
    known = {f"CALLBOARD_{name.upper()}" for name in Settings.model_fields}
    assert literals <= known
    maps = {each["name"] for each in KUSTOMIZATION["configMapGenerator"]}
    user = find_last(read_stages()[1], "USER").value.split(":")
    data = read_environment_of(read_stages()[1])["CALLBOARD_DATA_DIR"]
    for resource, template in list_pods():
        spec = template["spec"]
        [container] = spec["containers"]
        assert container.get("args", ["callboard"])[0] in ("dramatiq", "callboard")
        assert "command" not in container  # the image's first process reaps orphans
        assert {each["name"] for each in container["env"]} <= known
        assert {each["configMapRef"]["name"] for each in container.get("envFrom", []) if "configMapRef" in each} <= maps
        assert spec["enableServiceLinks"] is False, resource["metadata"]["name"]  # CALLBOARD_PORT=tcp://…
        security = spec["securityContext"]
        assert [str(security["runAsUser"]), str(security["runAsGroup"])] == user
        assert security["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert {each["mountPath"] for each in container["volumeMounts"]} == {data, "/tmp"}


def test_every_queue_has_workers_that_scale_by_it() -> None:
    grace = dict(line.split("=") for line in KUSTOMIZATION["configMapGenerator"][1]["literals"])[
        "CALLBOARD_GRACE_SECONDS"
    ]
    taken: list[str] = []
    for worker in WORKERS:
        spec = worker["spec"]["template"]["spec"]
        arguments = spec["containers"][0]["args"]
        queues = arguments[arguments.index("--queues") + 1 :]
        taken += queues
        assert spec["terminationGracePeriodSeconds"] == int(grace) + 10
        [scaler] = [
            each
            for each in of_kind("HorizontalPodAutoscaler")
            if each["spec"]["scaleTargetRef"]["name"] == worker["metadata"]["name"]
        ]
        metrics = [each["external"]["metric"] for each in scaler["spec"]["metrics"]]
        assert {each["name"] for each in metrics} == {rule["name"]["as"] for rule in ADAPTER}
        assert sorted(each["selector"]["matchLabels"]["queue"] for each in metrics) == sorted(queues)
    assert sorted(taken) == sorted(list_queues())


def test_the_adapter_asks_for_metrics_that_exist() -> None:
    exported = list_exported()
    for rule in ADAPTER:
        names = find_names(rule["metricsQuery"]) | find_names(rule["seriesQuery"])
        assert names == {"callboard_queue_depth", "callboard_queue_running"}
        assert all("queue" in exported[name][1] for name in names)
        assert re.findall(r"by \(queue, lane\) \((\w+)", rule["metricsQuery"]) == ["callboard_queue_depth"]
