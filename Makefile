# Two commands, each sets up all that it needs in .venv: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test slow quick fuzz bench clean

demo: .venv/runtime
	$(BIN)/mechgraph demo

test: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 -m "not slow"

# the long tail: every public robot, every figure, the large systems
slow: .venv/test
	$(BIN)/pytest -n 2 -m slow

quick: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pytest -n 2 --quick

# make fuzz HOURS=8, or COUNT=1000; SEED= is the first one
fuzz: .venv/test
	$(BIN)/python tests/fuzz/campaign.py --seed $(or $(SEED),0) $(if $(COUNT),--count $(COUNT),--hours $(or $(HOURS),1))
	$(BIN)/python tests/fuzz/invariance.py --seed $(or $(SEED),0) --count $(or $(COUNT),100)

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

.venv/runtime: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

.venv/bench: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable ".[bench]"
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
