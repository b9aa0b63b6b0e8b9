"""The problems that errors of the database become."""

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from taskapi.api.problems import to_problem


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (psycopg.OperationalError("gone"), 503),
        (PoolTimeout(), 503),
        (psycopg.errors.ReadOnlySqlTransaction(), 503),
        (psycopg.errors.LockNotAvailable(), 503),
        (psycopg.errors.ProgramLimitExceeded(), 422),
        (psycopg.errors.UndefinedColumn(), 500),
    ],
)
def test_each_error_of_the_database_has_its_status(failure: psycopg.Error, status: int) -> None:
    assert to_problem(failure).status == status
