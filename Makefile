# Everything a fresh machine with Python 3.11+, make and pip needs: `make demo` and `make test`.
# Another interpreter: `make test PYTHON=python3.12`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lint bench bench-scaling bench-compare scenarios clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(VENV)/.installed-demo ## run the main job on simulated data and say where the report is
	@$(BIN)/plaggm demo --force

test: lint ## check style, types and layers, then run all quick tests
	MPLBACKEND=Agg $(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/.installed-test ## check style, types and layers only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-slow: $(VENV)/.installed-test ## run the slow statistical tests
	MPLBACKEND=Agg $(BIN)/python -m pytest -m slow

bench: $(VENV)/.installed-demo ## run the benchmarks
	$(BIN)/python benchmarks/run.py

bench-scaling: $(VENV)/.installed-demo ## time and memory against n and p, with exponents
	$(BIN)/python benchmarks/scaling.py

bench-compare: $(VENV)/.installed-demo ## time this tree and REV=revision in turns; fails if slower
	$(BIN)/python benchmarks/compare.py $(or $(REV),$(error name a revision: make bench-compare REV=HEAD~1))

scenarios: $(VENV)/.installed-demo ## compare with every rival in every regime; DATA=folder adds measured motion
	$(BIN)/python benchmarks/scenarios.py --jobs $(WORKERS) $(if $(DATA),--data $(DATA))

clean: ## remove the environment and everything generated
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Systems that ship Python without ensurepip get pip from the interpreter's own.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "plaggm needs Python 3.11 or later; name one with 'make PYTHON=python3.12 ...'" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || \
	  { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	    $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } || { rm -rf $(VENV); exit 1; }

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,cli]'
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,cli,dev]'
	@touch $(VENV)/.installed-demo $@
