# Every command sets up what it needs from nothing: Python 3.11 or later and make are enough.
#   PYTHON=python3.13    the Python to make the environment with
#   CPU_ONLY=1           on a machine without a GPU: PyTorch's smaller CPU build
#   NEWEST=1             the newest releases that pyproject.toml allows, instead of the lock, in an
#                        environment of their own
#   DATA_DIR=FOLDER      real corpora for the tests that can use them (they are skipped without)
#   BASE=COMMIT          what `make quick` compares with
#   RECORD=1             let the chapters say that they passed today (results/verified.json); with
#                        NEWEST=1 instead list in results/newest.txt the versions with which all passed

VENV ?= $(if $(NEWEST),.venv-newest,.venv)
PORT ?= 8000
WORKERS ?= $(shell $(PYTHON) -c "import os; print(min(8, os.cpu_count() or 2))")
DATA_DIR ?=
BASE ?=
RECORD ?=

ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := $(VENV)/Scripts
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
RUN := $(BIN)/python

comma := ,
INDEX := $(if $(CPU_ONLY),--extra-index-url https://download.pytorch.org/whl/cpu)
REQUIREMENTS := $(if $(NEWEST),--upgrade --editable ".[anki$(comma)book$(comma)test]",-r requirements-lock.txt)
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=1200 --nbval-kernel-startup-timeout=300 --dist loadscope
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
BOOK := _config.yml _toc.yml $(wildcard book/*.md book/*.bib book/_static/* book/_templates/* \
        book/_templates/*/* book/_extensions/*.py results/verified.json) $(NOTEBOOKS)
PACKAGE := $(foreach depth,* */* */*/* */*/*/* */*/*/*/*, \
        $(wildcard $(addprefix src/annotated_transformer/$(depth).,py md json jsonl safetensors)))

# The workers share the machine with each other: one thread each is faster than several that fight.
# What the tests solve is not what the reader has solved.
TESTS := quick test-code test-code-all test-notebooks test-notebooks-again test-site test-site-all
$(TESTS): export OMP_NUM_THREADS ?= 1
$(TESTS): export ANNOTATED_TRANSFORMER_PROGRESS = _build/test-progress.json
PYTEST := $(RUN) -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup book epub quick test test-all check $(TESTS) browser serve lab address lock clean

help:
	@echo "make book      set up and build the site into _build/html"
	@echo "make quick     style, types and the tests of what a change touches: two minutes"
	@echo "make test      all that a change can break: code, exercises, notebooks, site"
	@echo "make test-all  that and the slow ones: nightly, and before something is called done"
	@echo "make epub      the book as one file for readers of books, into _build/plain/epub"
	@echo "make serve     the built site at http://127.0.0.1:$(PORT)/"
	@echo "make lab       the notebooks in JupyterLab"
	@echo "make address URL=https://OWNER.github.io/REPOSITORY/    where the book is published"
	@echo "make lock      the exact versions anew from the ranges in pyproject.toml"
	@echo "make clean     take away what was built and installed"

# --- set-up -------------------------------------------------------------------------------------

setup: $(VENV)/.installed

$(VENV)/.created:
	@$(PYTHON) -c "import sys; v = sys.version_info; sys.exit(v < (3, 11) and f'This is Python {v[0]}.{v[1]}; the book needs 3.11 or later: make PYTHON=python3.12 (or wherever yours is).')"
	@echo "== Making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created requirements-lock.txt pyproject.toml
	@echo "== Installing $(if $(NEWEST),the newest releases,the versions of requirements-lock.txt) and this package (minutes, the first time)"
	@$(RUN) -m pip install -qq --disable-pip-version-check $(REQUIREMENTS) $(INDEX)
	@$(RUN) -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

node_modules/.installed: package.json package-lock.json | $(VENV)/.installed
	@echo "== Installing what the pages load in a browser (npm)"
	@$(RUN) tools/front_end.py install
	@touch $@

_build/static/.copied: node_modules/.installed tools/front_end.py $(wildcard book/_editor/* book/_python/*)
	@$(RUN) tools/front_end.py copy
	@touch $@

# --- the book -----------------------------------------------------------------------------------

book: _build/html/.built
	@echo "The book is in _build/html/index.html; 'make serve' shows it."

_build/html/.built: $(BOOK) $(PACKAGE) $(VENV)/.installed _build/static/.copied \
        tools/build_book.py tools/address.py
	@echo "== Building the site"
	@$(RUN) tools/build_book.py build
	@touch $@

epub: setup _build/static/.copied
	@$(RUN) tools/plain_sphinx.py epub

serve: book
	@$(RUN) tools/build_book.py serve $(PORT)

lab: setup
	@$(BIN)/jupyter lab notebooks

address: setup
	@$(RUN) tools/address.py $(if $(filter undefined,$(origin URL)),show,set "$(URL)" "$(REPOSITORY)")

# --- the tests ----------------------------------------------------------------------------------

quick: check
	@echo "== What the change touches"
	@$(RUN) tools/quick.py "$(BASE)" $(WORKERS) $(NBVAL)

test: check test-code test-notebooks test-site
	@$(if $(and $(NEWEST),$(RECORD)),$(RUN) -m pip freeze --exclude-editable > results/newest.txt)
	@echo "Everything passed."

test-all: check test-code-all test-notebooks test-notebooks-again test-site-all
	@echo "Everything passed, the slow tests too."

check: setup
	@echo "== Style and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

CODE := --dist worksteal tests --ignore tests/site $(if $(DATA_DIR),--data-dir=$(DATA_DIR))

test-code: setup node_modules/.installed
	@echo "== Code and exercises"
	@$(PYTEST) -m "not slow" $(CODE)

test-code-all: setup node_modules/.installed book
	@echo "== Code and exercises, the slow tests too"
	@$(PYTEST) $(CODE)

test-notebooks: setup
	@echo "== Every notebook, strictly"
	@$(PYTEST) $(NBVAL) $(NOTEBOOKS)
	@$(if $(NEWEST),,$(if $(RECORD),$(RUN) tools/verified.py))

# A notebook that passes once may have been lucky.
test-notebooks-again: test-notebooks
	@echo "== Every notebook, strictly, once more"
	@$(PYTEST) $(NBVAL) $(NOTEBOOKS)

browser: setup
	@$(RUN) tools/browser.py

test-site: book browser
	@echo "== The built site in a browser"
	@$(PYTEST) --dist load -m "not slow" tests/site

test-site-all: book browser
	@echo "== The built site in a browser, the slow tests too"
	@$(PYTEST) --dist load tests/site

# --- upkeep -------------------------------------------------------------------------------------

lock: setup
	@$(RUN) -m pip install --quiet uv
	@$(RUN) tools/lock.py $(if $(UPGRADE),--upgrade) $(if $(TORCH),--torch $(TORCH))

clean:
	rm -rf .venv .venv-newest $(VENV) _build node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
