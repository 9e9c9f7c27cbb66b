# make demo | test | attack | digests | lint | bench | gallery | docs | format | clean
# Every target makes its own environment in .venv; only python3 (3.11 or later), pip and make are assumed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
PYTEST_ARGS ?= -n 2 --dist worksteal
ATTACK_SEED ?= 20261117
ATTACK_ARGS ?= --minutes 60
DIGESTS     ?= digests.json

.DEFAULT_GOAL := help
.PHONY: help demo test attack digests lint format bench gallery docs clean

help:
	@echo "make demo    run the demo scene, render a picture and a page of it"
	@echo "make test    run the tests"
	@echo "make attack  try random problems, scenes, files and calls for an hour, on all cores (ATTACK_SEED, ATTACK_ARGS)"
	@echo "make digests hash the states of 21 scenes with 6 solvers each; compare with those of an earlier run (DIGESTS=FILE)"
	@echo "make lint    ruff, mypy and the import layers"
	@echo "make format  let ruff format the code"
	@echo "make bench   run the benchmarks, against other engines too (large downloads)"
	@echo "make gallery run every scene and draw docs/gallery.md (half an hour or more)"
	@echo "make docs    build the documentation site, with warnings as errors (docs/_build/html)"
	@echo "make clean   remove .venv, caches and what runs left behind"

demo: $(STAMPS)/view
	@$(BIN)/stickslip run demo --out demo.h5
	@$(BIN)/stickslip render demo.h5 demo.png --time 0.92
	@$(BIN)/stickslip render demo.h5 demo.html --autoplay
	@echo "Recording: $(CURDIR)/demo.h5"
	@echo "Picture:   $(CURDIR)/demo.png"
	@echo "Page:      $(CURDIR)/demo.html    (open it in a browser; or watch: $(BIN)/stickslip view demo)"

test: $(STAMPS)/dev
	@$(BIN)/python -m pytest -q --durations=10 $(PYTEST_ARGS)

# Random cases; the seed and the number of a case are all that it takes to see a failure again.
attack: $(STAMPS)/dev
	@echo "Seed $(ATTACK_SEED); report: $(CURDIR)/attack.json"
	@$(BIN)/python tests/attack/run.py --seed $(ATTACK_SEED) --report attack.json $(ATTACK_ARGS)

# The first run writes the file, later ones compare with it. Bits depend on the machine, so it is not part of the project.
digests: $(STAMPS)/dev
	@if [ -e "$(DIGESTS)" ]; then $(BIN)/python benchmarks/digests.py --against "$(DIGESTS)"; \
	else $(BIN)/python benchmarks/digests.py --out "$(DIGESTS)" && echo "Written: $(DIGESTS)"; fi

# All four run, whatever the first ones say.
lint: $(STAMPS)/dev
	@status=0; \
	$(BIN)/ruff check --quiet . || status=1; \
	$(BIN)/ruff format --check --quiet . || { echo "ruff format: some files differ; make format mends them"; status=1; }; \
	$(BIN)/mypy || status=1; \
	$(BIN)/lint-imports --no-logo || status=1; \
	exit $$status

format: $(STAMPS)/dev
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format .

bench: $(STAMPS)/dev $(STAMPS)/peers
	@set -e; for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

gallery: $(STAMPS)/view
	@$(BIN)/python docs/make_gallery.py $(GALLERY_ARGS)

# The examples are run for what they print; that is kept in docs/_build until they change.
docs: $(STAMPS)/docs
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "Site: $(CURDIR)/docs/_build/html/index.html"

clean:
	@rm -rf docs/_build docs/reference docs/examples $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo.h5 demo.h5.partial demo.png demo.html attack.json digests.json
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. A stamp is newer than pyproject.toml when its extra is installed. Hatchling is installed
# beside the package and build isolation is off, so that a second run needs no network.
$(STAMPS)/venv:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found; install Python 3.11 or later"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: stickslip needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version 2>&1)"; \
	  echo "       name another one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install "hatchling>=1.27" editables
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/%: pyproject.toml $(STAMPS)/venv
	@echo "Installing stickslip[$*] into $(VENV) (downloads at the first run) ..."
	@$(PIP) install --no-build-isolation --editable ".[$*]"
	@touch $@
