# Each verb sets up what it needs: a machine with Python 3.11 and make is enough.
# Another interpreter: make test PYTHON=python3.13. Another place for it: make test VENV=/somewhere.

PYTHON ?= $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo python3)
VENV   ?= .venv
BIN     = $(VENV)/bin
PIP     = $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help test demo fmt lint types bench

help:  ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile

test: $(VENV)/.dev  ## run the whole suite, with all extras
	$(BIN)/pytest

demo: $(VENV)/.demo  ## stop a stuck agent, then find the loops in what it saved
	$(BIN)/python examples/stuck_agent.py
	@# scan exits 1 when it finds loops, and here it has to find them
	$(BIN)/loopguard scan demo-transcripts/*.jsonl; test $$? -eq 1

fmt: $(VENV)/.dev  ## format, and mend what the linter can mend by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev  ## check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev  ## check the types of the packages, of user code, of the examples
	$(BIN)/mypy
	$(BIN)/mypy tests/typing examples

# timing.py is what the others share; accuracy.py has to be given labelled runs
NO_BENCH = benchmarks/timing.py benchmarks/accuracy.py

bench: $(VENV)/.dev  ## measure; each line names its limit
	@set -e; for script in $(filter-out $(NO_BENCH),$(wildcard benchmarks/*.py)); do \
		$(BIN)/python $$script; \
	done

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("make PYTHON=... : loopguard needs Python 3.11 or newer" \
		if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	@echo "Installing the package with all extras and the tools into $(VENV), a minute or two ..."
	@$(PIP) install --editable '.[all,dev]'
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@echo "Installing the package with its langchain and cli extras into $(VENV), about a minute ..."
	@$(PIP) install --editable '.[langchain,cli]'
	@touch $@
