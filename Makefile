# Every target makes its own virtual environment in .venv the first time, with the versions of constraints.txt.
#   make demo      build, edit, check, time and plot the LLTM kernels     make demo ARGS=--quick
#   make quick     what an edit is most likely to break, in 30 s      make quick ARGS=lltm_inline/diagnosis
#   make test      the quick tests, two at a time                     make test ARGS='-k doctor'
#   make test-all  all tests: every notebook, export, crash and browser   make test-all ARGS='-m full' for what is left
#                  what takes long in turn: make test-all ARGS=--eighth=3 (any eight numbers in a row have all, as CI counts)
#   make matrix    each Python and torch, Colab and Kaggle, in environments made anew (an hour)   make matrix ARGS=Colab
#   make check     lint, types, order of the rooms, form of our C++
#   make bench     comparisons with other tools (minutes)
#   make lab       JupyterLab on lesson 00                                make lab ARGS=--no-browser
#   make bundle    the panel's JavaScript anew, after an edit of it (needs Node.js and the npm registry)
#   make clean     remove the environment and what tools left behind; the build cache stays (lltm-inline cache clear)
# Another Python: make PYTHON=python3.12 demo

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# On two cores a third test at a time costs more, in processes that start and in caches, than it fills while another waits.
# Where there are more cores: make test ARGS='-n 4', with some 3 GB of memory for each.
PYTEST = $(BIN)/python -m pytest -n 2 --dist worksteal
BIN = $(VENV)/bin
LESSON = $(notdir $(firstword $(wildcard notebooks/00*.ipynb)))
PANEL = lltm_inline/notebook/panel/js
# Of the ten thousand modules that come with torch few are ever imported: these are compiled then, and the others never.
PIP_INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile -c constraints.txt -e

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-all matrix check bench lab bundle clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.stamp-run
	$(BIN)/python -m lltm_inline.demo $(ARGS)

quick: $(VENV)/.stamp-test
	@$(BIN)/python -m tests.loop $(ARGS)

test: $(VENV)/.stamp-test
	$(PYTEST) -m 'not full' $(ARGS)

test-all: $(VENV)/.stamp-test
	$(PYTEST) $(ARGS)

matrix: $(VENV)/.stamp-test
	$(BIN)/python -m tests.platforms $(ARGS)

check: $(VENV)/.stamp-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run -Werror lltm_inline/native/*.cpp lltm_inline/*/*.h

bench: $(VENV)/.stamp-bench
	$(BIN)/python -m benchmarks $(ARGS)

# Whoever has a home without settings is not asked about news: the answer lies in the environment, as a default.
OVERRIDES = $(VENV)/share/jupyter/lab/settings/overrides.json
lab: $(VENV)/.stamp-run
	@test -e $(OVERRIDES) || { mkdir -p $(dir $(OVERRIDES)) && echo \
	  '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}' >$(OVERRIDES); }
	$(BIN)/jupyter lab --notebook-dir=notebooks --LabApp.default_url=/lab/tree/$(LESSON) --LabApp.news_url=None $(ARGS)

bundle:
	@command -v npm >/dev/null || { \
	  echo "make: no 'npm' on PATH, which bundles the panel's JavaScript. On Debian and Ubuntu: sudo apt-get install npm" >&2; \
	  exit 1; }
	cd $(PANEL) && npm ci --ignore-scripts --no-audit --no-fund && npm run build

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each set of packages: an install that fails or is interrupted leaves none, and runs again.
$(VENV)/.stamp-venv:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "make: no '$(PYTHON)' on PATH. Install Python 3.11 or newer, or say which: make PYTHON=/path/to/python3.12 ..." >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1), want Python 3.11 or newer. Say which: make PYTHON=python3.12 ..." >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' comes without venv. On Debian and Ubuntu: sudo apt-get install python3-venv" >&2; \
	  exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	@touch $@

$(VENV)/.stamp-run: $(VENV)/.stamp-venv pyproject.toml constraints.txt
	@echo "installing the pinned packages into $(VENV) (a few minutes the first time)"
	$(PIP_INSTALL) '.[jupyter]'
	@touch $@

$(VENV)/.stamp-test $(VENV)/.stamp-check $(VENV)/.stamp-bench: $(VENV)/.stamp-%: $(VENV)/.stamp-venv pyproject.toml constraints.txt
	@echo "installing the pinned packages into $(VENV) (a few minutes the first time)"
	$(PIP_INSTALL) '.[$*]'
	@touch $@ $(VENV)/.stamp-run
