# Stepwell: every task of the project. `make` alone lists them.
# Needs Python >= 3.11 and make; everything else is installed into .venv from the lock file.

PYTHON   ?= $(shell sh scripts/find_python.sh)
VENV     := .venv
PY       := $(VENV)/bin/python
SNAPSHOT := src/stepwell/sql/schema.snapshot.sql
# More processes than cores: a test often waits, for a server that starts or a page that opens.
JOBS     ?= 4
# The tests run on the embedded PostgreSQL; PG=15 takes the programs of another one that is installed.
PG       ?=
PG_BINS   = $(wildcard /usr/lib/postgresql/$(PG)/bin /usr/pgsql-$(PG)/bin /opt/homebrew/opt/postgresql@$(PG)/bin)
PG_BIN    = $(firstword $(or $(PG_BINS),$(error PostgreSQL $(PG) was not found; set STEPWELL_TEST_PG_BIN to its folder bin)))
ARGS     ?=
EXAMPLES ?= 2000
# Seconds in which sessions do everything at once, and no two may wait for each other.
STRESS   ?= 600
# Seconds that a tenant works beside one that does harm.
SOAK     ?= 1800

# The long tests: each file that draws a sample in `make test`, and these.
CHAOS     = $(sort tests/api/test_many_streams.py tests/interleave/test_locks_keep_their_order.py tests/worker/test_storm.py \
	tests/worker/test_hostile_tenant.py tests/acceptance/test_worker_kill.py \
	tests/govern/test_no_tampering_is_silent.py tests/govern/test_no_bundle_tampering_is_silent.py \
	$(shell grep -rl --include='test_*.py' 'from tests.support.sample import' tests))

# A stamp is the proof that a step was done with the present lock file, build hook and UI sources.
DEPS     := $(VENV)/.dependencies-installed
PROJECT  := $(VENV)/.project-installed
UI_FILES := $(shell find ui -name node_modules -prune -o -type f -print 2> /dev/null)

# A database of its own for what is written from the schema: the user's data stays untouched.
SCRATCH = folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && $(VENV)/bin/stepwell --data-dir "$$folder"

# The tests start hundreds of Python processes: without stored bytecode each compiles the project again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test lint check bench compare chaos docs snapshot ui clean

help: ## Show this list
	@echo "Usage: make <target> [ARGS=...]"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)$$/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

setup: $(PROJECT) ## Create .venv, install the locked dependencies and the project, build the UI

run: $(PROJECT) ## Start database, server, worker and UI with the demo in one process tree; Ctrl-C stops them
	@$(VENV)/bin/stepwell up --demo $(ARGS)

test: $(PROJECT) ## Run every test, in parallel, with a real browser
	@$(PY) scripts/ensure_programs.py
	@$(if $(PG),STEPWELL_TEST_PG_BIN=$(PG_BIN)) $(PY) -m pytest -n $(JOBS) --dist worksteal --session-timeout=3000 $(ARGS)

lint: $(PROJECT) ## Lint and types of Python; lint, types and unit tests of the web UI
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) scripts/write_ui_types.py --check
	@$(PY) scripts/check_ui.py

check: lint ## What make lint does, then import direction, tidy and documentation tests; under a minute
	@$(PY) -m pytest -q tests/tidy tests/docs

bench: $(PROJECT) ## Measure against the peers that are installed; prints ratios
	@$(PY) -m bench $(ARGS)

compare: $(PROJECT) ## CPU and WAL per step at the commit BASE and here, in turns on one server
	@PYTHONPATH=. $(PY) scripts/compare_commits.py $(or $(BASE),$(error BASE is missing: make compare BASE=HEAD~1)) $(ARGS)

chaos: $(PROJECT) ## Hours of random calls, random workflows and killed workers; the invariants are asked after each
	@STEPWELL_TAMPER=all STEPWELL_STREAMS=1000 STEPWELL_STREAM_STEPS=2000 STEPWELL_EXAMPLES=$(EXAMPLES) STEPWELL_STRESS_SECONDS=$(STRESS) STEPWELL_SOAK_SECONDS=$(SOAK) $(PY) -m pytest $(CHAOS) --timeout=14400 $(ARGS)

docs: $(PROJECT) ## Rewrite the generated references and test every document
	@$(PY) scripts/write_reference.py
	@$(PY) scripts/write_conformance.py
	@$(PY) scripts/write_ui_types.py
	@$(SCRATCH) machine reference --fresh > docs/state-machines.md.new && mv docs/state-machines.md.new docs/state-machines.md
	@STEPWELL_WRITE_MATRIX=1 $(PY) -m pytest -q tests/sql/walls -k page
	@$(PY) -m pytest -q tests/docs

snapshot: $(PROJECT) ## Rewrite schema.snapshot.sql from the migrations
	@$(SCRATCH) db dump --fresh > $(SNAPSHOT).new && mv $(SNAPSHOT).new $(SNAPSHOT)

ui: ## Build the web UI into the package again
	@rm -rf src/stepwell/ui_dist $(PROJECT)
	@$(MAKE) --no-print-directory setup

clean: ## Remove the environment, caches and everything that was built
	rm -rf $(VENV) build dist src/stepwell/ui_dist ui/node_modules .hypothesis
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@test -n "$(PYTHON)"
	@echo "Creating $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)

$(DEPS): requirements-dev.lock | $(PY)
	@echo "Installing the locked dependencies"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

$(PROJECT): $(DEPS) pyproject.toml $(wildcard hatch_build.py) $(UI_FILES)
	@echo "Installing the project and building the UI"
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
