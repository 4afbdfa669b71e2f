# Every command sets up what it needs from nothing: Python 3.11 or later and make are enough.
#   PYTHON=python3.13    the Python to make the environment with
#   CPU_ONLY=1           on a machine without a GPU: PyTorch's smaller CPU build
#   NEWEST=1             the newest releases that pyproject.toml allows, instead of the lock
#   DATA_DIR=FOLDER      real corpora for the tests that can use them (they are skipped without)

VENV ?= .venv
PORT ?= 8000
WORKERS ?= 2
DATA_DIR ?=

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
        book/_templates/*/* book/_extensions/*) $(NOTEBOOKS)

# Two workers share the machine with each other: one thread each is faster than two that fight.
# What the tests solve is not what the reader has solved.
test-code test-notebooks test-site: export OMP_NUM_THREADS ?= 1
test-code test-notebooks test-site: export ANNOTATED_TRANSFORMER_PROGRESS = _build/test-progress.json

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup book test check test-code test-notebooks test-site browser serve lab address lock clean

help:
	@echo "make book      set up and build the site into _build/html"
	@echo "make test      set up and run every test: code, exercises, notebooks, site"
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

_build/static/.copied: node_modules/.installed tools/front_end.py
	@$(RUN) tools/front_end.py copy
	@touch $@

# --- the book -----------------------------------------------------------------------------------

book: _build/html/.built
	@echo "The book is in _build/html/index.html; 'make serve' shows it."

_build/html/.built: $(BOOK) _build/static/.copied tools/build_book.py tools/address.py
	@echo "== Building the site"
	@$(RUN) tools/build_book.py build
	@touch $@

serve: book
	@$(RUN) tools/build_book.py serve $(PORT)

lab: setup
	@$(BIN)/jupyter lab notebooks

address: setup
	@$(RUN) tools/address.py $(if $(filter undefined,$(origin URL)),show,set "$(URL)" "$(REPOSITORY)")

# --- the tests ----------------------------------------------------------------------------------

test: check test-code test-notebooks test-site
	@echo "Everything passed."

check: setup
	@echo "== Style and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

test-code: setup node_modules/.installed
	@echo "== Code and exercises"
	@$(RUN) -m pytest -n $(WORKERS) --dist loadscope tests --ignore tests/book/test_site.py $(if $(DATA_DIR),--data-dir=$(DATA_DIR))

# Twice, because a notebook that passes once may have been lucky.
test-notebooks: setup
	@echo "== Every notebook, strictly, twice"
	@$(if $(NOTEBOOKS),$(RUN) -m pytest -n $(WORKERS) $(NBVAL) $(NOTEBOOKS),echo "no notebooks yet")
	@$(if $(NOTEBOOKS),$(RUN) -m pytest -n $(WORKERS) $(NBVAL) $(NOTEBOOKS))

browser: setup
	@$(RUN) tools/browser.py

test-site: book browser
	@echo "== The built site in a browser"
	@$(RUN) -m pytest -n $(WORKERS) --dist load tests/book/test_site.py

# --- upkeep -------------------------------------------------------------------------------------

lock: setup
	@$(RUN) -m pip install --quiet uv
	@$(RUN) tools/lock.py $(if $(UPGRADE),--upgrade) $(if $(TORCH),--torch $(TORCH))

clean:
	rm -rf $(VENV) _build node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
