# Each command sets up all that it needs in .venv; `make demo` and `make test` are the two to know.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: runtime demo docs test slow smoke elsewhere lowest fuzz bench clean

# the runtime, in C: built by pip, and anew where its sources have changed
runtime:
	@$(PYTHON) hatch_build.py

demo: .venv/runtime
	@$(BIN)/python hatch_build.py
	$(BIN)/mechgraph demo

# the website in build/site, strictly; formulas are typeset by KaTeX, which needs Node.js
docs: .venv/docs build/npm
	@$(PYTHON) hatch_build.py
	$(BIN)/python -m doctest docs/docstrings.py
	$(BIN)/python docs/pictures.py build/pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

test: .venv/test
	@$(BIN)/python hatch_build.py
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# the long tail: every public robot, every figure, the large systems
slow: .venv/test
	@$(BIN)/python hatch_build.py
	$(BIN)/pytest -n 2 --dist worksteal -m slow

# each room does its work once, from the description to the result: under a minute
SMOKE = $(shell grep -rl --include="test_*.py" "mark.smoke" tests)
smoke: .venv/test
	@$(BIN)/python hatch_build.py
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pytest -n 2 --dist worksteal -m smoke $(SMOKE)

# the tests as another processor computes them: TARGET=x86-64-v2 (no FMA), -v3, -v4; BLAS=Nehalem,
# Haswell, SkylakeX …; every model in machine code
BLAS ?= Nehalem
elsewhere: export MECHGRAPH_TARGET = $(or $(TARGET),x86-64-v2)
elsewhere: export OPENBLAS_CORETYPE = $(BLAS)
elsewhere: export MECHGRAPH_COMPILE = $(or $(COMPILE),always)
elsewhere: .venv/test
	@$(BIN)/python hatch_build.py
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# the smoke tests with the lowest versions that pyproject.toml allows, in an environment of its own
lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --requirement tests/lowest.txt --editable .
	.venv-lowest/bin/pytest -n 2 -m smoke $(SMOKE)

# make fuzz HOURS=8, or COUNT=1000; SEED= is the first one
fuzz: .venv/test
	$(BIN)/python tests/campaigns/campaign.py --seed $(or $(SEED),0) $(if $(COUNT),--count $(COUNT),--hours $(or $(HOURS),1))
	$(BIN)/python tests/campaigns/invariance.py --seed $(or $(SEED),0) --count $(or $(COUNT),100)

bench: .venv/bench
	$(BIN)/python benchmarks/derivation.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/loops.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/contacts.py
	$(BIN)/python benchmarks/composition.py
	$(BIN)/python benchmarks/controllers.py
	$(BIN)/python benchmarks/robotics.py
	$(BIN)/python benchmarks/formalisms.py
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/fixed_costs.py

.venv/runtime: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

.venv/docs: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable ".[docs]"
	touch $@

build/npm:
	npm install --silent --no-audit --no-fund --prefix $@ katex@0.16

.venv/bench: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable ".[bench]"
	touch $@

clean:
	rm -rf .venv .venv-lowest build dist .mypy_cache .ruff_cache .pytest_cache
