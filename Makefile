# make up: everything on this machine. make test: all tests. make check: lint, types, imports. make bench: how fast.
# make chaos: what faults do (docs/proof.md).
.PHONY: up test check bench soak chaos

# The first of these that is new enough and can make a virtual environment.
PYTHONS := python3 python3.13 python3.12 python3.11 python3.14
CAN_DO := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
INSTALLED := .venv/.installed

up: $(INSTALLED)
	@.venv/bin/callboard up

test: $(INSTALLED)
	.venv/bin/pytest -n 4 --dist worksteal

check: $(INSTALLED)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

# GROUP=drain for one group; ARGS for more, such as ARGS="--rounds 1 --enforce".
bench: $(INSTALLED)
	.venv/bin/python -m tests.bench $(GROUP:%=--group %) $(ARGS)

# An hour of work with faults, to see what grows; ARGS="--minutes 15" for less.
soak: $(INSTALLED)
	.venv/bin/python -m tests.chaos.soak $(ARGS)

# ARGS="--seed 7 --seconds 60", or ARGS="--kills 3000" for a long run.
chaos: $(INSTALLED)
	.venv/bin/python -m tests.chaos.storm $(ARGS)

$(INSTALLED): requirements.txt pyproject.toml
	@if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then \
	    found=; \
	    for python in $(PYTHONS); do \
	        if $$python -c "$(CAN_DO)" 2>/dev/null; then found=$$python; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "Callboard needs Python 3.11 or newer with venv (Debian, Ubuntu: apt install python3-venv)." >&2; \
	        exit 1; \
	    fi; \
	    echo "Creating .venv with $$($$found --version)"; \
	    $$found -m venv --clear .venv; \
	fi
	@echo "Installing into .venv"
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
