# Bare `make` lists the targets. Every target that needs Python sets up $(VENV) first.
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
WORKERS ?= 2
ARGS ?=
MINUTES ?= 20

bin := $(VENV)/bin
stamp := $(VENV)/.supple-stamp
code := supple tests tools benchmarks examples

.PHONY: help env check format test slow golden docs bench demo fuzz mutate histories crossings recall breaks properties matrix clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

env: $(stamp) ## set up the virtual environment in $(VENV)

$(stamp): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if (3, 11) <= v < (3, 14) else f"supple needs Python 3.11, 3.12 or 3.13, this is {v.major}.{v.minor}: call make PYTHON=...")'
	test -x $(bin)/python || $(PYTHON) -m venv $(VENV)
	$(bin)/python -m pip install -qq --disable-pip-version-check '$(TORCH)'
	$(bin)/python -m pip install -qq --disable-pip-version-check -e '.[test,dev]'
	$(bin)/python tools/check_environment.py
	touch $@

check: $(stamp) ## lint, format, types, import contracts, size budget (under a minute)
	$(bin)/ruff check $(code)
	$(bin)/ruff format --check $(code)
	$(bin)/lint-imports --no-cache
	$(bin)/python tools/size_budget.py supple
	$(bin)/pyright --pythonpath $(bin)/python

format: $(stamp) ## rewrite the code to the house format
	$(bin)/ruff check --fix $(code)
	$(bin)/ruff format $(code)

test: $(stamp) ## the tests, without those marked slow
	$(bin)/python -m pytest -n $(WORKERS) -m "not slow" $(ARGS)

slow: $(stamp) ## the tests marked slow: whole models
	$(bin)/python -m pytest -m slow $(ARGS)

golden: $(stamp) ## rewrite the golden files; review the difference with git
	$(bin)/python -m pytest -n $(WORKERS) tests/language --golden $(ARGS)

docs: $(stamp) ## rewrite docs/errors from the catalogue and its examples
	$(bin)/python -m tools.error_pages

fuzz: $(stamp) ## random programs, eager against compiled, for MINUTES=20; ARGS="--seed 7" for others
	$(bin)/python -m tests.fuzz --minutes $(MINUTES) $(ARGS)

mutate: $(stamp) ## change one thing between two calls of each program, for MINUTES=20; ARGS="--part 0 --parts 2 everyday"
	$(bin)/python -m tests.mutation --minutes $(MINUTES) $(ARGS)

breaks: $(stamp) ## a break before every instruction of the corpus (90 minutes); ARGS="--part 0 --parts 2"
	$(bin)/python -m tests.breaks $(ARGS)

properties: $(stamp) ## the property tests with 5,000 examples each
	HYPOTHESIS_PROFILE=nightly $(bin)/python -m pytest -n $(WORKERS) tests/property $(ARGS)

crossings: $(stamp) ## every operator in drawn surroundings, eager against compiled, for MINUTES=20
	$(bin)/python -m tests.crossings --minutes $(MINUTES) $(ARGS)

histories: $(stamp) ## what autograd knows of tensors, eager against compiled, for MINUTES=20
	$(bin)/python -m tests.histories --minutes $(MINUTES) $(ARGS)

recall: $(stamp) ## bugs that were fixed, put back: which generators find them; ARGS="--minutes-per-mutant 20"
	$(bin)/python -m tests.recall $(ARGS)

matrix: $(stamp) ## the tests under every Python and torch that we name (hours); ARGS="3.13 2.13" for one
	$(bin)/python -m tools.matrix $(ARGS)

bench: $(stamp) ## the benchmarks: one JSON line per figure, then a table
	$(bin)/python -m benchmarks $(ARGS)

demo: $(stamp) ## the main job: compile a GPT-2, check it against eager, print the times
	$(bin)/python examples/gpt2.py $(ARGS)

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
