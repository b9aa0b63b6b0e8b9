"""What a client is told of errors of the database."""

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from taskapi.problems import problem_of


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
def test_a_database_that_will_be_back_is_not_our_fault(failure: psycopg.Error, status: int) -> None:
    assert problem_of(failure).status == status
