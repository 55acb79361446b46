# make demo: a cluster on this machine. make test: unit, functional, lab and kernel tests that fit on `tiny`.
PYTHON ?= python3
python := .venv/bin/python
CLUSTER ?= apollo-slice

.PHONY: demo lab test test-all test-quick lint docs bench clean

# Made again when a pin changes.
.venv: setup.cfg pyproject.toml
	$(PYTHON) -m venv --clear .venv
	$(python) -m pip install --quiet --editable '.[test]'
	touch .venv

lab: .venv
	$(python) -m lab up $(CLUSTER)

demo: .venv
	$(python) -m lab demo $(CLUSTER)

lint: .venv
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --config setup.cfg --no-cache --no-logo
	find salt pillar -name '*.sls' -not -type l -exec .venv/bin/salt-lint {} +
	$(python) -m docs.generate --check

test-quick: .venv
	$(python) -m pytest tests/unit tests/functional

test: lint test-quick
	$(python) -m pytest -m processes tests/functional
	$(python) -m pytest -m 'not big' tests/lab tests/kernel

test-all: lint test-quick
	$(python) -m pytest -m processes tests/functional
	$(python) -m pytest -m '' tests/lab tests/kernel

# The reference pages from the code, then all pages as a site and as man pages; a link that leads nowhere fails.
docs: .venv
	$(python) -m docs.generate
	$(python) -m pip install --quiet --editable '.[docs]'
	$(python) -m sphinx -q -W --keep-going -b html docs build/docs/html
	$(python) -m sphinx -q -W --keep-going -b man docs build/docs/man

bench: .venv
	$(python) -m tests.bench

clean: .venv
	$(python) -m lab kernel down
	$(python) -m lab down
