# Everything a fresh machine with Python 3.11+, make and pip needs: `make demo` and `make test`.
# Another interpreter: `make test PYTHON=python3.12`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-loaded test-slow fuzz test-lowest test-bare coverage lint docs dist bench bench-scaling bench-compare scenarios calibration calibration-series calibration-moderation clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(VENV)/.installed-demo ## run the main job on simulated data and say where the report is
	@$(BIN)/plaggm demo --force

test: lint ## check style, types and layers, then run all quick tests
	MPLBACKEND=Agg $(BIN)/python -m pytest -n $(WORKERS)

test-loaded: $(VENV)/.installed-test ## run all quick tests while other processes keep every core busy
	MPLBACKEND=Agg $(BIN)/python benchmarks/under_load.py $(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/.installed-test ## check style, types and layers only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-slow: $(VENV)/.installed-test ## run the slow tests, hostile input, and the property tests on random examples
	MPLBACKEND=Agg $(BIN)/python -m pytest -m slow --timeout 7200
	MPLBACKEND=Agg HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest tests/property

# Old libraries warn of their own future, which is now; matplotlib 3.9 prints such warnings of pyparsing 3.3.
test-lowest: $(VENV)/.installed-test ## run the quick tests on the lowest versions that pyproject.toml allows
	rm -rf $(VENV)-lowest && $(MAKE) --no-print-directory VENV=$(VENV)-lowest $(VENV)-lowest/bin/python
	$(BIN)/python benchmarks/lowest_versions.py > $(VENV)-lowest/versions.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c $(VENV)-lowest/versions.txt -e '.[dev]' 'pyparsing<3.3'
	MPLBACKEND=Agg $(VENV)-lowest/bin/python -m pytest -n $(WORKERS) -W default::DeprecationWarning \
	  -W default::PendingDeprecationWarning -W default::FutureWarning

test-bare: ## run the quick tests that need no extra, where none is installed
	rm -rf $(VENV)-bare && $(MAKE) --no-print-directory VENV=$(VENV)-bare $(VENV)-bare/bin/python
	$(VENV)-bare/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	$(VENV)-bare/bin/python -m pytest -n $(WORKERS)

coverage: $(VENV)/.installed-test ## run the quick tests and report which lines they reach
	MPLBACKEND=Agg $(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term:skip-covered

# Warnings are errors. Examples that have not changed are not run again; `make clean` forgets them.
docs: $(VENV)/.installed-docs ## build the documentation site, run its gallery, check its links
	MPLBACKEND=Agg $(BIN)/python -m sphinx -E -W --keep-going -q -j $(WORKERS) -b html docs build/docs
	$(BIN)/python docs/check_links.py build/docs
	@echo "The site: build/docs/index.html"

dist: $(VENV)/.installed-test ## build sdist, wheel and conda recipe, and try the wheel in an empty environment
	rm -rf dist $(VENV)-dist
	$(BIN)/python -m build --outdir dist
	$(MAKE) --no-print-directory VENV=$(VENV)-dist $(VENV)-dist/bin/python
	wheel=$$(ls dist/*.whl) && $(VENV)-dist/bin/python -m pip install --quiet \
	  --disable-pip-version-check "$$wheel[plot,cli]" pytest
	$(VENV)-dist/bin/python -m pip check
	cd $(VENV)-dist && bin/plaggm --version && bin/plaggm demo --quiet --force --output demo && \
	  bin/python -c "import plaggm; print(plaggm.read_result('demo'))"
	cp -r tests/smoke $(VENV)-dist/smoke && cd $(VENV)-dist && \
	  bin/python -m pytest -q -c /dev/null -o markers=slow --rootdir smoke --noconftest smoke
	$(BIN)/python packaging/fill_recipe.py dist

fuzz: $(VENV)/.installed-test ## try thousands of hostile inputs; SEED=1 draws others
	$(BIN)/python -m fuzz --seed $(or $(SEED),0) --jobs $(WORKERS)

bench: $(VENV)/.installed-demo ## run the benchmarks
	$(BIN)/python benchmarks/run.py

bench-scaling: $(VENV)/.installed-demo ## time and memory against n and p, with exponents
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/many_variables.py

bench-compare: $(VENV)/.installed-demo ## time this tree and REV=revision in turns; fails if slower
	$(BIN)/python benchmarks/compare.py $(or $(REV),$(error name a revision: make bench-compare REV=HEAD~1))

scenarios: $(VENV)/.installed-demo ## compare with every related method in every regime; DATA=folder adds measured motion
	$(BIN)/python benchmarks/scenarios.py --jobs $(WORKERS) $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/families.py

calibration-series: $(VENV)/.installed-demo ## do tests hold for time series?
	$(BIN)/python benchmarks/temporal.py series --ways ar --seeds $(or $(SEEDS),8000:8040)
	$(BIN)/python benchmarks/temporal.py series --ways ar --seeds $(or $(SEEDS),8000:8006) \
	  --sizes 20x300,48x300,10x1200,20x1200,48x1200,10x150,20x150,48x150

calibration: $(VENV)/.installed-demo ## do p-values and intervals of edges hold? DATA=folder adds measured motion
	$(BIN)/python benchmarks/calibration.py --jobs $(WORKERS) $(if $(DATA),--data $(DATA))

calibration-moderation: $(VENV)/.installed-demo ## do tests of changing edges hold, and what do they find?
	$(BIN)/python benchmarks/moderation.py --page

clean: ## remove the environment and everything generated
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-bare $(VENV)-dist build dist .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf docs/auto_examples docs/generated
	find src tests benchmarks fuzz docs -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Systems that ship Python without ensurepip get pip from the interpreter's own.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "plaggm needs Python 3.11 or later; name one with 'make PYTHON=python3.12 ...'" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || \
	  { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	    $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } || { rm -rf $(VENV); exit 1; }

# The version is in __init__.py.
$(VENV)/.installed-demo: pyproject.toml src/plaggm/__init__.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,cli]'
	@touch $@

# Of brainspace (a scan) and skfolio (prices) the gallery reads data files only; what they require is large.
$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'brainspace>=0.1.10' 'skfolio>=0.9'
	@touch $@

$(VENV)/.installed-test: pyproject.toml src/plaggm/__init__.py | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot,cli,dev]'
	@touch $(VENV)/.installed-demo $@
