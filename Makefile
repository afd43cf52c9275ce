# `make help` lists the targets. Everything runs in .venv, which `make setup` creates.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PYTHON := $(VENV)/bin/python
export PYTHON := $(abspath $(PYTHON))
export PYTHONPATH := $(abspath python)
SBT := ./sbt
INSTALLED := $(VENV)/.installed
JAR := python/tamis/jars/tamis.jar
CLASSES := build/LocalFiles.jar
# When the format of the Scala sources was last checked: sbt takes a while to start.
FORMATTED := build/.formatted
SCALA_SOURCES := .scalafmt.conf build.sbt $(wildcard project/*.scala project/*.sbt) \
	$(shell find jvm-shim/src tests/spark_suites -name '*.scala' 2>/dev/null)
JAR_SOURCES := build.sbt project/build.properties project/plugins.sbt project/ConfAccessors.scala \
	python/tamis/conf.json python/tamis/reasons.json python/tamis/_version.py \
	$(shell find jvm-shim/src -type f 2>/dev/null)

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## "; print "make TARGET, where TARGET is one of\n" } \
	  /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(INSTALLED) $(JAR) ## Create .venv, install everything, build the jar (needs Java 17 and Python 3.11, or newer)
	@$(PYTHON) -c "import tamis, pyspark, pyarrow; print('tamis', tamis.__version__, 'with pyspark', pyspark.__version__, 'is ready')"

.PHONY: demo
demo: setup ## Run a dozen queries on TPC-H with tamis on and off, some also over Iceberg and Delta, and compare
	@$(PYTHON) -m bench.demo

.PHONY: lint lint-python lint-scala
lint: setup ## Check lint, types, layers and formatting
	@$(MAKE) --no-print-directory -j 2 lint-python lint-scala

lint-python:
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

SCALA_LINT := scalafmtCheckAll sparkSuites/scalafmtCheckAll scalafmtSbtCheck

lint-scala: $(FORMATTED)

$(FORMATTED): $(SCALA_SOURCES)
	$(SBT) $(SCALA_LINT) </dev/null
	@mkdir -p $(@D) && touch $@

.PHONY: test-scala
test-scala:
	$(SBT) $(SCALA_LINT) test </dev/null

# Files in the order of tests/conftest.py, those with slow tests first; some files as if they were one.
PYTEST := $(PYTHON) -m pytest --dist loadfile --no-loadscope-reorder --doctest-modules

# One more than the two cores, because tests wait for the processes that they start.
WORKERS := 3

.PHONY: check
check: lint ## Run lint, doctests and tests without Spark or other programs (under two minutes)
	HYPOTHESIS_PROFILE=quick $(PYTEST) -n 2 -m "not spark and not programs" -q python/tamis tests

.PHONY: test
test: setup ## Run lint, the Scala tests and all of pytest
	@$(MAKE) --no-print-directory -j 2 lint-python test-scala $(CLASSES)
	$(PYTEST) -n $(WORKERS) --durations 40 python/tamis tests

$(CLASSES): $(INSTALLED) tests/class_archive.py $(wildcard tests/*.java)
	$(PYTHON) -m tests.class_archive

.PHONY: differential
differential: setup ## Run longer comparisons with Spark on random data and queries (SEED=1 N=2000)
	HYPOTHESIS_PROFILE=long $(PYTHON) -m pytest tests/properties tests/differential
	$(PYTHON) tests/differential/verdicts.py --seed $(or $(SEED),1) --count $(or $(N),2000)00
	$(PYTHON) tests/differential/queries.py --seed $(or $(SEED),1) --count $(or $(N),2000)

.PHONY: queries
queries: setup ## Compare random queries over random tables with Spark (SEED=1 N=2000 P=processes)
	$(PYTHON) tests/differential/queries.py --seed $(or $(SEED),1) --count $(or $(N),2000) \
	  --processes $(or $(P),1) $(if $(ONLY),--only "$(ONLY)")

.PHONY: operators
operators: $(INSTALLED) ## Write docs/operators.md
	$(PYTHON) -c "from tamis.evaluation.functions.registry import to_markdown as text; print(text(), end='')" \
	  > docs/operators.md

.PHONY: partitioning
partitioning: $(INSTALLED) ## Write docs/partitioning.md
	$(PYTHON) -c "from tamis.classification.partitioning import to_markdown as text; print(text(), end='')" \
	  > docs/partitioning.md

.PHONY: reasons
reasons: $(INSTALLED) ## Write docs/reasons.md
	$(PYTHON) -c "from tamis.reasons import to_markdown as text; print(text(), end='')" > docs/reasons.md

.PHONY: sweep
sweep: setup ## Compare the bounds of every function with Spark (SEED=1 N=300 ONLY=part of the SQL)
	$(PYTHON) tests/differential/sweep.py --seed $(or $(SEED),1) --containers $(or $(N),300) \
	  $(if $(ONLY),--only "$(ONLY)")

.PHONY: mutants
mutants: $(INSTALLED) ## Check that tests detect single mistakes in the rules (ONLY=plan/scan_decision SAMPLE=300 SEED=1)
	$(PYTHON) tests/mutants/run.py --seed $(or $(SEED),1) $(if $(ONLY),--only "$(ONLY)") \
	  $(if $(SAMPLE),--sample $(SAMPLE))

.PHONY: mutants-scala
mutants-scala: setup ## Check that tests detect removed guards in the Scala rules (ONLY=part of a name)
	$(PYTHON) tests/mutants/scala_mutants.py $(if $(ONLY),--only "$(ONLY)")

.PHONY: snapshots
snapshots: $(INSTALLED) ## Record the current answers of the rules for tests/snapshots
	$(PYTHON) -m tests.snapshots.recorded

.PHONY: verdicts
verdicts: setup ## Run and show every case of tests/cases
	$(PYTHON) -m pytest -v tests/cases

.PHONY: test-versions
test-versions: setup ## Run queries with Spark 4.0, 4.1, 4.2 and 4.3, tamis on and off
	.ci/test-versions

.PHONY: spark-suites
spark-suites: setup ## Run Spark's own test suites with tamis: one to two hours (ONLY="SubquerySuite joins" FULL=1)
	$(SBT) sparkSuites/writeClasspath </dev/null
	$(PYTHON) -m tests.spark_suites.run $(ONLY) $(if $(FULL),--full) $(ARGS)

.PHONY: bench
bench: setup ## Measure planning, scans and TPC-H; compare opened files with Iceberg and Delta; count requests (bench/)
	@$(PYTHON) -m bench.planning
	@$(PYTHON) -m bench.scans
	@$(PYTHON) -m bench.scans.partition_groups
	@$(PYTHON) -m bench.scans.sorted_files
	@$(PYTHON) -m bench.scans.iceberg_row_groups
	@$(PYTHON) -m bench.aggregates
	@$(PYTHON) -m bench.remembered
	@$(PYTHON) -m bench.evaluated_values
	@$(PYTHON) -m bench.topk
	@$(PYTHON) -m bench.tpch
	@$(PYTHON) -m bench.tpch.formats
	@$(PYTHON) -m bench.peers
	@$(PYTHON) -m bench.deleted_rows
	@$(PYTHON) -m bench.requests

.PHONY: format
format: setup ## Format Python and Scala sources
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(SBT) scalafmtAll sparkSuites/scalafmtAll scalafmtSbt </dev/null

.PHONY: clean
clean: ## Remove build outputs and caches (keeps .venv)
	rm -rf build dist target project/target project/project jvm-shim/target python/tamis/jars
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache spark-warehouse
	find python tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Upgrade pip: 25.1 is the first version that reads dependency groups.
$(INSTALLED): export TAMIS_JAR := later
$(INSTALLED): pyproject.toml
	@if command -v uv >/dev/null; then \
	  set -ex; \
	  [ -x $(PYTHON) ] || uv venv --python '>=3.11' $(VENV); \
	  uv pip install --quiet --python $(PYTHON) --group dev; \
	  uv pip install --quiet --python $(PYTHON) --no-build-isolation --no-deps --editable .; \
	else \
	  set -e; \
	  [ -x $(PYTHON) ] || for python in python3 python3.13 python3.12 python3.11 none; do \
	    [ $$python != none ] || { echo "no Python 3.11 or newer found" >&2; exit 1; }; \
	    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    (set -x; $$python -m venv $(VENV)); break; \
	  done; \
	  set -x; \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'; \
	  $(PYTHON) -m pip install --quiet --group dev; \
	  $(PYTHON) -m pip install --quiet --no-build-isolation --no-deps --editable .; \
	fi
	@touch $@

# The jar is compiled against the pyspark of .venv and therefore depends on it.
$(JAR): $(JAR_SOURCES) | $(INSTALLED)
	$(SBT) shim/package </dev/null
