# make demo: a cluster on this machine. make test: unit, functional, lab and kernel tests, on one small cluster.
# make test-all PART=2/4: the second of four shares of every test there is.
PYTHON ?= python3
python := .venv/bin/python
CLUSTER ?= apollo-slice
PART ?= 1/1
# Where it is set, each of a thousand processes of the tests compiles the same files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: .venv demo lab test test-all test-quick test-slow test-processes test-lab test-beside fuzz lint docs bench packages clean

# Made again when a pin changes. A lab needs little of it: the rest is made for tests.
.venv: .venv/test

.venv/lab: setup.cfg pyproject.toml
	$(PYTHON) -m venv --clear .venv
	$(python) -m pip install --quiet --editable '.[lab]'
	touch .venv/lab

# Salt's timelib has no wheel, so it is compiled; tests run the others. On Debian root gets what is missing.
.venv/test: .venv/lab
	@! which apt-get >/dev/null || [ $$(id -u) != 0 ] || which cc sfdisk ss ssh-keygen >/dev/null || (apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends --no-remove \
	    gcc python3-dev fdisk iproute2 openssh-client)
	@$(python) -m pip install --quiet --editable '.[test]' || \
	    { echo "Was timelib not built? It takes a C compiler and Python's headers (Debian: gcc python3-dev)." >&2; exit 1; }
	touch .venv/test

lab: .venv/lab
	$(python) -m lab up $(CLUSTER)

# When it began, in seconds since 1970: it tells how long the first HEALTH_OK took, with what make did before.
demo: export HALOCLINE_DEMO_BEGAN := $(shell date +%s.%N)
demo: .venv/lab
	$(python) -m lab demo $(CLUSTER)

lint: .venv
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --config setup.cfg --no-cache --no-logo
	.venv/bin/mypy
	find salt pillar -name '*.sls' -not -type l -exec .venv/bin/salt-lint {} +
	$(python) -m docs.generate --check

test-quick: .venv
	$(python) -m pytest tests/unit tests/functional

test-slow: .venv
	$(python) -m pytest -m 'slow and not processes' tests/unit tests/functional

test-processes: .venv
	$(python) -m pytest -m 'processes and not big' --numprocesses 0 tests/functional

# The planner on random machines: CASES=100000 of each check, SECONDS=60, PROCESSES=2, CHECKS="lives advice".
fuzz: .venv
	$(python) -m tests.fuzz $(CHECKS) $(if $(CASES),--cases $(CASES)) $(if $(SECONDS),--seconds $(SECONDS)) \
	    --processes $(or $(PROCESSES),1)

# What labs and guests start from is made while quick and slow tests run: the first `up` waits for it.
test: .venv
	@$(python) tests/rig/proven.py
	@mkdir -p build; $(python) -m lab prepare >build/prepare.log 2>&1 &
	$(MAKE) lint test-quick test-slow
	$(MAKE) --jobs=2 test-beside test-lab

test-lab: .venv
	$(python) -m pytest -m 'not big' tests/rig tests/lab tests/kernel

# While the first cluster comes up, which mostly waits; its output is shown at its end.
test-beside: .venv
	@mkdir -p build; ($(MAKE) test-processes && $(MAKE) fuzz SECONDS=60 CASES=2000) >build/beside.log 2>&1; \
	    code=$$?; cat build/beside.log; exit $$code

# All there is: goes on after a failure, runs only what has not passed on this commit, ends in build/test-all/report.txt.
test-all: .venv
	$(python) -m tests.suite --part $(PART)

# The reference pages from the code, then all pages as a site and as man pages; a link that leads nowhere fails.
docs: .venv
	$(python) -m docs.generate
	$(python) -m pip install --quiet --editable '.[docs]'
	$(python) -m sphinx -q -W --keep-going -b html docs build/docs/html
	$(python) -m sphinx -q -W --keep-going -b man docs build/docs/man

bench: .venv
	$(python) -m tests.bench

# The master's part and the planner as .deb and .rpm, the planner as a wheel: in build/packages.
packages: .venv
	rm -rf build/packages
	$(python) srv/packages

clean: .venv/lab
	$(python) -m lab down
