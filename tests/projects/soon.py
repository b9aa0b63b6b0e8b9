"""Makes the retries of runs come soon; imported by workers among their actors."""

from dataclasses import replace

from state.tasks import catalog
from state.tasks.catalog import RetryPolicy

catalog.register(replace(catalog.get("project_run"), policy=RetryPolicy(default=(0.1,))))
