# The project's vocabulary, for people and for CI. Everything runs in .venv, made on first use.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
VERSIONS ?= -c constraints.txt
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-all test-newest check lint type imports bench docs format clean install

install: $(INSTALLED)

$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing phrasescore and what it needs into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --disable-pip-version-check $(VERSIONS) -e '.[dev,alignment,byte-pairs,report,cluster]'
	@touch $@
	@echo "installed: $(BIN)/phrasescore --help"

demo: $(INSTALLED)  ## the main job, start to finish, on the bundled sample corpus
	@$(BIN)/python sample_corpus/demo.py

# The files in their order: the long ones, which run commands, come first, and short ones fill up the
# end; xdist's own order has last what has few tests, as those of kills have. Hundreds of processes
# read the modules, so Python keeps them compiled, whatever the shell says of that.
test: export PYTHONDONTWRITEBYTECODE =
test: $(INSTALLED)  ## the tests, two at a time (under ten minutes)
	@$(BIN)/python -m pytest -q -m "not slow" -n 2 --dist loadfile --no-loadscope-reorder --durations=10

test-all: $(INSTALLED)  ## the slow tests too, and more random examples, other ones each time
	@$(BIN)/python -m pytest -q --hypothesis-profile=search

test-newest:  ## the tests with the newest version of every dependency, in an environment of their own
	@$(MAKE) test VENV=.venv-newest VERSIONS="--upgrade --upgrade-strategy eager"

lint: $(INSTALLED)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

type: $(INSTALLED)
	@$(BIN)/mypy

imports: $(INSTALLED)
	@$(BIN)/lint-imports

check: lint type imports test  ## lint, types, import rules, tests

bench: $(INSTALLED)  ## timings against peers, one after the other
	@$(BIN)/python -m benchmarks

docs: $(INSTALLED)  ## the web site, in site/; fails on a broken link
	@$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

format: $(INSTALLED)
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:
	find . -path ./.venv -prune -o -name '*.nb[ic]' -print | xargs rm -f
	rm -rf build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
