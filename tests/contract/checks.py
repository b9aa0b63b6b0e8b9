"""Runs generated requests of one operation against a real server, and checks each answer against the document."""

import os
import random
from collections.abc import Collection, Mapping
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, CheckContext, GenerationMode, Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.contract.contents import Contents

EXAMPLES = int(os.environ.get("CALLBOARD_CONTRACT_EXAMPLES", "3"))  # of an operation; valid and invalid ones each
BOTH = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


def does_not_fail(_: CheckContext, response: Response, case: Case[Any]) -> None:
    """The health of a system without workers is a 503."""
    assert response.status_code < 500 or (response.status_code, case.path) == (503, "/health"), response.text


CHECKS = [
    does_not_fail,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
_TIMEOUT = 30.0
_LONGEST_QUERY = 2000

AnyOperation = APIOperation[Any, Any, Any, Any]


class Contract:
    """What came of the requests: how many of each status, and which answers break the document."""

    def __init__(self, url: str, contents: Contents, headers: Mapping[str, str]) -> None:
        self.statuses: dict[int, int] = {}
        self.failures: dict[str, str] = {}
        self._url = url
        self._contents = contents
        self._headers = dict(headers)

    def try_all(
        self,
        document: dict[str, Any],
        *,
        without: Collection[str] = (),
        modes: Collection[GenerationMode] = BOTH,
        examples: int = EXAMPLES,
    ) -> None:
        """Sends requests that fit the document and requests that do not, to what exists and to what does not."""
        for operation in list_operations(document):
            if operation.label in without:
                continue
            for mode in modes:
                try:
                    self._try(operation, mode, examples)
                except Unsatisfiable:
                    continue  # such as an operation that takes nothing: there is no invalid request
                except (Exception, BaseExceptionGroup) as failure:
                    self.failures[f"{operation.label} ({mode.value})"] = str(failure)

    def _try(self, operation: AnyOperation, mode: GenerationMode, examples: int) -> None:
        with requests.Session() as session:
            session.trust_env = False

            @settings(
                max_examples=examples,
                derandomize=True,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode), seed=st.integers(0, 2**16))
            def send(case: Case[Any], seed: int) -> None:
                assume(len(str(case.query)) < _LONGEST_QUERY)  # a longer request line never reaches the application
                self._name_what_exists(case, random.Random(seed))
                answer = case.call(base_url=self._url, session=session, headers=self._headers, timeout=_TIMEOUT)
                self.statuses[answer.status_code] = self.statuses.get(answer.status_code, 0) + 1
                case.validate_response(answer, checks=CHECKS)

            send()

    def _name_what_exists(self, case: Case[Any], chance: random.Random) -> None:
        """Generated ids are of nothing that exists: replaces most of them."""
        for parameter in case.path_parameters or {}:
            if parameter in self._contents.names and chance.random() < 0.7:
                case.path_parameters[parameter] = chance.choice(self._contents.names[parameter])


def list_operations(document: dict[str, Any]) -> list[AnyOperation]:
    """Without streams, which do not end."""
    found = [result.ok() for result in schemathesis.openapi.from_dict(document).get_all_operations()]  # type: ignore[union-attr]
    return [each for each in found if "text/event-stream" not in str(each.definition.raw["responses"].get("200"))]
