# philly_analysis: `make` alone prints this help.
#
# Each target installs what it needs in a virtual environment, .venv, on first use.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
TRACE  ?=
EXPERIMENT ?=
ATLAS  ?=
PHILLY_TRACES ?= ../shared/traces
SCALE  ?= 1
LOCK   ?=
CASES  ?= 1000000
SEED   ?= 1

.DEFAULT_GOAL := help
.PHONY: help reports test test-all check lint types format bench sample notebooks docs lab slurm-lab faults fuzz locks audit clean

help: ## list the targets
	@echo "philly_analysis - from GPU-cluster logs to findings, models and what-if answers"
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'
	@echo
	@echo "  make reports TRACE=<path>     the same for a Philly archive, output of sacct, or an ingested trace"
	@echo "  make reports TRACE=philly     download the archive first (1 GB); 'philly datasets' lists others"
	@echo "  make reports EXPERIMENT=amoeba   simulate a later system, beside its published results; all: every one"
	@echo "  make reports ATLAS=1          test the study's findings on public traces"
	@echo "  make test LOCK=.ci/lowest.txt run the tests with the lowest allowed versions; .ci/highest.txt: newest"
	@echo "  make bench SCALE=0.1          measure at a tenth of Philly's full size"

# --- environments -----------------------------------------------------------------------------

LOCKED := $(if $(LOCK),--constraint $(LOCK))

$(VENV)/.run: pyproject.toml
	@echo "== preparing $(VENV) (first use: a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(LOCKED) --editable .
	@$(BIN)/python -m compileall -q philly_analysis  # as pip does with what it copies
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "== adding the tools for tests and checks"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(LOCKED) --editable '.[dev,docs,notebooks]'
	@touch $@

# --- what users run ---------------------------------------------------------------------------

INGEST := philly_analysis/trace/schema.py philly_analysis/trace/tables.toml $(wildcard philly_analysis/ingest/*.* philly_analysis/ingest/*/*.* philly_analysis/failures/*.* philly_analysis/failures/signatures/*)

data/traces/sample/manifest.json: $(wildcard data/sample/* data/sample/failed-output/*) $(INGEST) | $(VENV)/.run
	@echo "== ingesting the bundled sample (synthetic)"
	@$(BIN)/philly ingest philly data/sample data/traces/sample --quotas data/sample/quotas.csv --failures data/sample/failed-output --force

ifneq ($(ATLAS),)
reports: $(VENV)/.run
	@echo "== testing the findings on the public traces in $(PHILLY_TRACES)"
	@$(BIN)/philly atlas --datasets '$(PHILLY_TRACES)' --out reports/atlas
else ifneq ($(EXPERIMENT),)
reports: $(VENV)/.run
	@echo "== running the experiments"
	@$(BIN)/philly experiment $(filter-out all,$(EXPERIMENT)) --jobs $(shell nproc 2>/dev/null || echo 1)
else ifeq ($(TRACE),)
reports: data/traces/sample/manifest.json ## ingest the bundled sample, compute every finding, write reports/sample/report.html
	@echo "== computing every finding"
	@$(BIN)/philly report data/traces/sample --out reports
else
reports: $(VENV)/.run
	@set -e; trace='$(TRACE)'; \
	name=$$(basename "$$trace"); name=$${name%%.*}; made="data/traces/$$name"; \
	if [ ! -e "$$trace" ]; then \
	  echo "== downloading $$trace"; \
	  trace=$$($(BIN)/philly fetch "$$trace" "data/downloads/$$name"); \
	fi; \
	if [ ! -f "$$trace/manifest.json" ]; then \
	  if [ ! -f "$$made/manifest.json" ] || [ -n "$$(find "$$trace" -newer "$$made/manifest.json" | head -n 1)" ]; then \
	    echo "== ingesting $$trace"; \
	    $(BIN)/philly ingest auto "$$trace" "$$made" --force; \
	  fi; \
	  trace="$$made"; \
	fi; \
	echo "== computing every finding"; \
	$(BIN)/philly report "$$trace" --out reports
endif

sample: $(VENV)/.run ## generate the synthetic sample again from the shipped models
	$(BIN)/python -m data.sample.generator.archive data/sample --gzip
	$(BIN)/python -m data.sample.generator.failure_output data/sample data/sample/failed-output/failures.jsonl.gz

notebooks: $(VENV)/.dev data/traces/sample/manifest.json ## run every notebook and store its output
	@$(BIN)/python notebooks/make.py

docs: $(VENV)/.dev data/traces/sample/manifest.json ## build the documentation: reports/docs/index.html
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs reports/docs
	@echo "== reports/docs/index.html"

lab: $(VENV)/.dev data/traces/sample/manifest.json ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab --notebook-dir notebooks

# --- what developers run ----------------------------------------------------------------------

# keep compiled tests, whatever the environment says: else each worker compiles them in each run
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

test: $(VENV)/.dev ## run the tests: offline, under three minutes
	$(PYTEST) -q -n auto --dist worksteal

# axe-core checks pages in Chromium; without npm its tests are skipped
$(VENV)/axe.min.js: | $(VENV)/.dev
	-@cd $(VENV) && npm pack --silent axe-core@4.14.1 > /dev/null && tar -xzOf axe-core-*.tgz package/axe.min.js > axe.part \
	  && mv axe.part axe.min.js; rm -f axe-core-*.tgz axe.part

test-all: $(VENV)/.dev $(VENV)/axe.min.js ## also run the slow tests and those on real traces (PHILLY_TRACES), with more random examples
	PHILLY_AXE="$$(ls $(abspath $(VENV))/axe.min.js)" $(PYTEST) -q -n auto --dist worksteal -m '' --hypothesis-profile=thorough

check: lint types test ## lint, types, tests: all must pass

lint: $(VENV)/.dev ## check the style of Python and SQL, and the import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/sqlfluff lint --processes 2 philly_analysis
	$(BIN)/lint-imports

types: $(VENV)/.dev ## check types with mypy, strict
	$(BIN)/mypy

format: $(VENV)/.dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.run ## measure each step at Philly's full size, against a bare scan and on 1, 2, 4 and all cores; reports/bench.svg
	$(BIN)/python -m tests.bench.bench --scale $(SCALE) --keep-history
	$(BIN)/python -m tests.bench.history
	$(BIN)/python -m tests.bench.cores --scale $(SCALE)
	$(BIN)/python -m tests.bench.jobs
	$(BIN)/python -m tests.bench.simulator
	$(BIN)/python -m tests.bench.simulator --queue fifo easy
	$(BIN)/python -m tests.bench.signatures

slurm-lab: $(VENV)/.dev ## start a real Slurm on loopback, run 400 jobs, compare ingest with them (ten minutes, as root)
	$(BIN)/python -m pytest -q -rs tests/slurm_lab -m slow

faults: $(VENV)/.dev ## kill commands, fill disks, damage traces, and check what remains (an hour)
	$(BIN)/python -m tests.faults

fuzz: $(VENV)/.dev ## run a million mutated documents through every reader (an hour); CASES=, SEED=
	$(BIN)/python -m tests.hostile.campaign --cases $(CASES) --seed $(SEED)

locks: $(VENV)/.dev ## lock the newest and the lowest versions that pyproject.toml allows: .ci/*.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@for which in highest lowest-direct; do \
	  $(BIN)/uv pip compile pyproject.toml --all-extras --python-version 3.11 --universal --quiet \
	    --no-header --no-annotate --resolution $$which --upgrade --output-file .ci/$${which%%-*}.txt; \
	done

audit: $(VENV)/.dev ## check the locked versions for known vulnerabilities (needs a network)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@for lock in .ci/highest.txt .ci/lowest.txt; do \
	  $(BIN)/uvx pip-audit --strict --no-deps --disable-pip --requirement $$lock || exit 1; \
	done

clean: ## remove the environment, traces and reports
	rm -rf $(VENV) data/traces reports/*/ .pytest_cache .mypy_cache .ruff_cache .hypothesis
