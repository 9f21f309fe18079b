# Two commands do everything on a fresh machine: `make shell` and `make test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STORE  ?=
UV     ?= uv
# Everything is installed from a lock file with hashes; nothing is resolved here.
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet
SELF   := $(PIP) --no-deps --no-build-isolation --editable . --editable ./toolkit

# Most tests start programs of ours: each would compile all of its modules again.
unexport PYTHONDONTWRITEBYTECODE

KERNELS := $(shell find remoting storefmt server -name "*.pyx" -o -name "*.pxd")

.PHONY: shell test test-full check short full pure kernel wheel release bench soak fuzz sanitize docs tour site lock clean

shell: $(VENV)/.shell
	@$(BIN)/mqadmin shell --embedded $(if $(STORE),--store $(STORE))

# Minutes; it says at the end what it leaves to test-full and to soak.
test: check short

# Everything but soak, as CI runs it: also where the first part fails.
test-full: export RERUNS = 1
test-full: $(VENV)/.dev
	@$(MAKE) test; first=$$?; $(MAKE) pure; second=$$?; $(MAKE) full && exit $$((first + second))

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Half of the time of the suite is waiting, for timers of Java and for processes: on two processors
# three processes share it. 0 for none.
TEST_PROCESSES ?= 3
# How often a test that failed is tried again. The last lines name each such test (RERUN): it is to
# be mended, but an hour of CI is not lost for it.
RERUNS ?= 0
PYTEST = $(BIN)/python -m pytest -n $(TEST_PROCESSES) --reruns $(RERUNS) -r fER
short: $(VENV)/.dev
	$(PYTEST) -m "not full and not soak"

full: $(VENV)/.dev
	$(PYTEST) -m "full and not soak"

# The short tests of what has kernels or a protocol of asyncio, without kernels and on the event loop
# of asyncio. `make test` runs them with the kernels and on uvloop.
pure: $(VENV)/.dev
	MQ_PURE=1 $(PYTEST) -m "pure and not full and not soak" \
		tests/remoting tests/server tests/storefmt

# The installations below try this, too, and go on without a C compiler.
kernel: $(VENV)/.dev
	$(BIN)/python setup.py --quiet build_ext --inplace
	@$(BIN)/python -c 'import storefmt.arrow.columns_kernel, mqserver.broker.send.send_kernel'

# Two distributions. `mqclient` has all code: its packed source, and two wheels that are built from
# it, with kernels, for this kind of processor and this version of Python, and without them for any
# other. `mqadmin` has the programs and their files. An environment of their own builds them.
WHEEL_PYTHON ?= $(abspath build/wheel-venv)/bin/python
SDIST := -c 'from setuptools import build_meta; build_meta.build_sdist("$(abspath dist)")'
WHEEL := $(WHEEL_PYTHON) -m pip --disable-pip-version-check wheel --quiet --no-cache-dir --no-deps \
	--no-build-isolation --no-index --wheel-dir dist
wheel: build/wheel-venv/.wheel
	rm -rf dist
	$(WHEEL_PYTHON) $(SDIST) >/dev/null
	cd toolkit && $(WHEEL_PYTHON) $(SDIST) >/dev/null
	$(WHEEL) dist/mqclient-*.tar.gz dist/mqadmin-*.tar.gz
	MQ_PURE=1 $(WHEEL) dist/mqclient-*.tar.gz
	@$(WHEEL_PYTHON) -m zipfile -l dist/*-cp*.whl | grep '_kernel.*[.]so' >/dev/null || \
		{ echo "the kernels were not compiled: is there a C compiler?" >&2; exit 1; }
	@ls dist/*

build/wheel-venv/.wheel: requirements/wheel.lock
	@$(PYTHON) -m venv build/wheel-venv
	@build/wheel-venv/bin/python -m pip --disable-pip-version-check install --quiet \
		--require-hashes -r requirements/wheel.lock
	@touch $@

# A dry run: nothing is tagged or uploaded. docs/release.md has the steps around it.
release: docs wheel
	$(BIN)/python -m venv build/release
	build/release/bin/python -m pip --disable-pip-version-check install --quiet 'twine>=6,<8'
	build/release/bin/twine check --strict dist/*
	$(BIN)/python -m docs.release

# An hour on two processors; SOAK_MINUTES in the environment makes it shorter, or longer and so more
# complete. Prints what each test said, with its seed; SOAK_SEED repeats one.
soak: $(VENV)/.dev
	$(BIN)/python -m pytest -m soak -n 2 -rP --timeout 7200

# Seconds for each of some twenty decoders.
FUZZ_SECONDS ?= 10
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz.run --seconds $(FUZZ_SECONDS)

# The tests of the compiled kernels under AddressSanitizer and UBSan.
sanitize: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz.sanitize

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.run --flush SYNC_FLUSH --loads sync:1 sync:64
	$(BIN)/python -m benchmarks.client
	$(BIN)/python -m benchmarks.delay
	$(BIN)/python -m benchmarks.delay --timers --pending 1000000
	$(BIN)/python -m benchmarks.five
	$(BIN)/python -m benchmarks.pipeline
	$(BIN)/python -m benchmarks.pipeline --growth 1 4 16

docs: $(VENV)/.dev
	$(BIN)/python -m docs.generate

# Runs every line of the tour; its page, in both languages, shows what they print.
tour: $(VENV)/.dev
	$(BIN)/python -m docs.tourpage

# Has an environment of its own: the tools above need none of its packages.
SITE ?= build/site
site: build/site-venv/.site
	$(PYTHON) docs/site.py build/site-pages
	build/site-venv/bin/python -m mkdocs build --quiet --strict --site-dir $(abspath $(SITE))
	@echo $(SITE)/index.html

build/site-venv/.site: requirements/site.lock
	@$(PYTHON) -m venv build/site-venv
	@build/site-venv/bin/python -m pip --disable-pip-version-check install --quiet \
		--require-hashes -r requirements/site.lock
	@touch $@

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11: name a newer one, as in 'make shell PYTHON=python3.12'" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >&2
	@touch $@

$(VENV)/.shell: requirements/shell.lock pyproject.toml toolkit/pyproject.toml setup.py $(KERNELS) | $(VENV)/python
	@echo "installing into $(VENV)" >&2
	@$(PIP) --require-hashes -r requirements/shell.lock >&2
	@$(SELF) >&2
	@$(BIN)/mqbroker --version >&2
	@touch $@

$(VENV)/.dev: requirements/dev.lock pyproject.toml toolkit/pyproject.toml setup.py $(KERNELS) | $(VENV)/python
	@echo "installing the tools and Spark into $(VENV)" >&2
	@$(PIP) --require-hashes -r requirements/dev.lock >&2
	@$(SELF) >&2
	@$(BIN)/mqbroker --version >&2
	@touch $@ $(VENV)/.shell

lock:
	cd requirements && for name in shell dev site wheel; do \
		$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
			--no-header $$name.in -o $$name.lock; done
	cd benchmarks && $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header bridge.in -o bridge.lock

clean:
	rm -rf $(VENV) *.egg-info build dist toolkit/*.egg-info toolkit/build
	find remoting storefmt server -name "*.so" -delete
