# Two commands matter: `make demo` and `make test`. Both make .venv from the hashed lock and find or install TeX first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PYTHON := $(VENV)/bin/python
EVENHAND := $(VENV)/bin/evenhand
OUT ?= evenhand-out

.PHONY: help setup tex demo test slow lint bench serve lock clean

help:  ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(VENV)/.installed: requirements.lock pyproject.toml
	@deployments/set-up-python "$(VENV)"
	@touch "$@"

setup: $(VENV)/.installed tex  ## .venv from the lock, and TeX

tex:  ## find TeX, or install it from the system's packages
	@deployments/set-up-tex

demo: setup  ## all benchmarks on the demo material, offline; prints where the report is
	@$(EVENHAND) run demo --out "$(OUT)/demo"

test: setup  ## the fast tests
	@$(PYTHON) -m pytest -n 2 --dist loadfile -m "not slow"

slow: setup  ## the tests that take their time: kills, crashes, real papers, browsers, a whole demonstration
	@$(PYTHON) -m pytest -n 2 --dist loadfile -m slow

lint: $(VENV)/.installed  ## ruff, mypy, import-linter
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-cache

bench: setup  ## speed, in ratios measured side by side
	@for bench in tests/benchmarks/bench_*.py; do echo "== $$bench"; $(PYTHON) "$$bench" || exit 1; done

serve: setup  ## local Prefect server with UI, worker and deployments
	@$(EVENHAND) serve

lock:  ## the hashed lock anew (names, versions and hashes; no address)
	@uv pip compile pyproject.toml --all-extras --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --python-version 3.11 --no-annotate --no-header -o requirements.lock

clean:  ## what was made here, the store and the reports excepted
	@rm -rf "$(VENV)" .pytest_cache .mypy_cache .ruff_cache .hypothesis
