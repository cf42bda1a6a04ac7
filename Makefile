# Needs python3 (3.11 or newer), git and make. Everything else goes into .venv, hash-locked.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
IMAGE  ?= autobuild-action:dev
MODEL  ?= simulated
PYTEST_ARGS ?=

UV_VERSION := 0.13.8
PIP     := -m pip --disable-pip-version-check -qq
INSTALL := $(PIP) install --require-hashes --only-binary=:all:
WORKFLOWS = $(wildcard .github/workflows/*.yml examples/*.yml)
SCRIPTS   = .ci/run $(wildcard tools/*.sh)

.PHONY: demo test check format bench lock image clean
.DEFAULT_GOAL := demo

demo: $(READY) ## The main job, on simulators; MODEL=real takes the real model and your key
	@$(PY) -m simulators.demo --model $(MODEL)

test: $(READY) ## All tests
	@$(PY) -m pytest $(PYTEST_ARGS)

check: $(READY) ## Everything that can be judged without running the product
	@echo "check: format"
	@$(BIN)/ruff format --check --quiet . || { echo "Run: make format"; exit 1; }
	@echo "check: lint"
	@$(BIN)/ruff check --quiet .
	@echo "check: types"
	@$(BIN)/mypy --no-error-summary
	@echo "check: workflows (shape)"
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows $(WORKFLOWS)
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	@echo "check: workflows (security)"
	@$(BIN)/zizmor --offline --quiet --no-progress action.yml $(WORKFLOWS)
	@echo "check: Dockerfile"
	@$(BIN)/hadolint Dockerfile
	@echo "check: shell scripts"
	@if [ -x $(BIN)/shellcheck ]; then $(BIN)/shellcheck $(SCRIPTS); else echo "left out: no shellcheck for this machine"; fi
	@echo "check: all good"

format: $(READY) ## Rewrite the source as `make check` wants it
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix-only .

bench: $(READY) ## Figures for docs/benchmarks.md
	@$(PY) -m bench

image: ## The action's image. An engine without a bridge (tools/docker-up.sh) builds on the host's network
	docker build $$(docker network inspect bridge >/dev/null 2>&1 || echo --network=host) -t $(IMAGE) .

lock: ## Both lock files again, from pyproject.toml; UPGRADE=--upgrade takes newer versions
	$(need-python)
	@rm -rf build/lock && $(PYTHON) -m venv build/lock && build/lock/bin/python $(PIP) install uv==$(UV_VERSION)
	@build/lock/bin/uv pip compile $(LOCK) -o requirements.lock
	@build/lock/bin/uv pip compile $(LOCK) --group dev --constraints requirements.lock -o requirements-dev.lock
LOCK = pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet $(UPGRADE)

clean: ## What make made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One line and nothing else when the machine cannot make a virtual environment.
need-python = $(if $(shell $(PYTHON) -c 'import sys; print("3.11" if sys.version_info >= (3, 11) else "")' 2>/dev/null),,$(error \
  $(PYTHON) is missing or older than 3.11; name a newer one: make PYTHON=python3.13))$(if $(shell $(PYTHON) -c \
  'import ensurepip, venv; print("venv")' 2>/dev/null),,$(error \
  Python cannot make virtual environments; install what is missing: apt-get install python3-venv))

# The source is found through a .pth file: nothing to build, and it holds for every process started from .venv.
$(READY): requirements-dev.lock
	$(need-python)
	@echo "Setting up $(VENV) (once, about half a minute)"
	@rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	@$(PY) $(INSTALL) -r requirements-dev.lock
	@$(PY) -c 'import pathlib, sysconfig; \
	  pathlib.Path(sysconfig.get_path("purelib"), "autobuild_action.pth").write_text(str(pathlib.Path("src").resolve()))'
	@touch $@
