# `make demo`: a release from start to finish.  `make check`: what CI runs.
# Every target sets up what it needs; nothing is repeated that has been done.

PYTHON  ?= python3
WORKERS ?= 2

VENV := .venv
BIN  := $(VENV)/bin
RUN  := $(BIN)/python
PIP  := $(RUN) -m pip --disable-pip-version-check --no-input
# wheels alone: where there is none, say so at once instead of asking for a compiler
INSTALL := $(PIP) install --quiet --only-binary :all:
READY   := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready

TESTS := $(RUN) -m pytest -m "not long" -n $(WORKERS)

.PHONY: setup demo test check lint types rooms examples bench verify clean help

help:  ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1	\2/'

setup: $(READY)  ## .venv with pinned requirements and the package, editable

# A Python without ensurepip (some systems split it off) still makes an environment: its own pip fills it.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "congenial needs Python 3.11 or later: make PYTHON=python3.12 …" >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(RUN) install --quiet pip; }
	@touch $@

$(READY): $(VENV)/.made requirements/runtime.txt requirements/dev.txt pyproject.toml
	@echo "setting up $(VENV) (once)" >&2
	@$(INSTALL) -r requirements/dev.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(BENCH_READY): $(READY) requirements/bench.txt
	@$(INSTALL) -r requirements/bench.txt
	@touch $@

demo: $(READY)  ## plan, release and verify a bundled table
	@$(BIN)/congenial demo

test: $(READY)  ## the fast tests
	$(TESTS)

check: lint types rooms examples test  ## what CI runs

lint: $(READY)  ## ruff
	$(BIN)/ruff check src tests scripts bench

types: $(READY)  ## mypy, strict
	$(BIN)/mypy

rooms: $(READY)  ## who may import whom
	$(RUN) scripts/check_rooms.py

examples: $(READY)  ## the examples of README and docs run
	$(RUN) scripts/check_docs.py

bench: $(BENCH_READY)  ## the price of invariants, and what a promise leaves
	$(RUN) bench/price.py
	$(RUN) bench/crossing.py
	$(RUN) bench/chains.py
	$(RUN) bench/promise.py

verify: $(READY)  ## every test, the long batteries too
	$(RUN) -m pytest -m "" -n $(WORKERS)

clean:  ## remove what was made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
