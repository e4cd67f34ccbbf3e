SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
STACK ?= local
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help setup tools up down preview render goldens check test test-full clean

help:  ## Show the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## Prepare .venv from the locked dependencies.
	@toolchain/setup.sh

tools: setup  ## Build the pinned tools that this machine lacks.
	@python -m toolchain build

up: tools  ## From nothing to a trained model: cluster, images, data, stack, run.
	@trainyard cluster up --install-packages
	@trainyard images build --install-packages --stack $(STACK)
	@trainyard data push --stack $(STACK)
	@variables="$$(trainyard env)" && eval "$$variables" && pulumi up --stack $(STACK) --yes --skip-preview --non-interactive --policy-pack policies
	@trainyard wait --stack $(STACK)

down: setup  ## Wait for the run (STOP=1: stop it), keep the vault, destroy stack and cluster.
	@trainyard teardown --stack $(STACK) $(if $(STOP),--stop)
	@trainyard cluster down

preview: tools  ## Show what `up` would change, with the verdict of the policies.
	@trainyard preview --stack $(STACK)

goldens: setup  ## Write the golden manifests again after an intended change.
	@pytest tests/golden --update-goldens

check: setup  ## Lint, types, formatting.
	@ruff check .
	@ruff format --check .
	@mypy

test: setup  ## The fast tests.
	@pytest -m "not full and not cluster"

test-full: tools  ## All tests, with real builds and a real cluster; needs root.
	@pytest

clean:  ## Remove what the checkout made for itself; caches and the vault stay.
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
