# Two commands: `make demo` and `make test`. Both set everything up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out

.PHONY: help setup system browser demo test pytest test-slow lint format types bench check-exports clips clean

help:
	@echo "make demo       set up, run King, write recording, report, film strip and playback under $(OUT)/king"
	@echo "make test       set up, lint, check types, run the tests"
	@echo "make test-slow  the long physics checks (a million steps of Stand, …)"
	@echo "make bench      measure the speed of every scenario, write $(OUT)/bench"
	@echo "make check-exports  exports in the tools they are made for: glTF and USD validators, Blender ($(OUT)/exports)"
	@echo "make clips      perform the clips that come with Interplay anew (src/interplay/clips)"
	@echo "make lint format types clean"

setup: system $(VENV)/ready

# OpenGL for pictures, a browser for the tests. Installed where we may; otherwise named, and everything else works.
system:
	@sh tools/system_packages.sh
browser:
	@sh tools/system_packages.sh --browser

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Interplay needs Python 3.10 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,bodies,exchange,spacetime,skills,dask]'
	@touch $@

demo: setup
	$(BIN)/interplay run king --out $(OUT)/king
	@$(BIN)/interplay export $(OUT)/king $(OUT)/king/king.npz
	@$(BIN)/interplay export $(OUT)/king $(OUT)/king/king.html
	@$(BIN)/interplay export $(OUT)/king $(OUT)/king/king.png || echo "no film strip: OpenGL is missing (see above); everything else is there"
	@echo "Open $(OUT)/king/king.html in a browser to watch it."

lint: $(VENV)/ready
	$(BIN)/ruff format --check --quiet src tests examples tools
	$(BIN)/ruff check --quiet src tests examples tools
	$(BIN)/lint-imports --no-cache --no-logo
format: $(VENV)/ready
	$(BIN)/ruff format src tests examples tools
	$(BIN)/ruff check --fix src tests examples tools

types: $(VENV)/ready
	$(BIN)/pyright

# Types are checked beside the tests, a third of whose time is waiting.
test: browser setup lint
	@$(MAKE) --no-print-directory -j2 types pytest
pytest: $(VENV)/ready
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test-slow: setup
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m slow -v

bench: setup
	$(BIN)/interplay bench --out $(OUT)/bench

# Blender is installed into an environment of its own (350 MB), the glTF validator below $(OUT).
check-exports: setup
	$(BIN)/python tools/check_exports.py --out $(OUT)/exports

clips: setup
	$(BIN)/python tools/make_clips.py

clean:
	rm -rf $(VENV) .venv-blender $(OUT) .pytest_cache .ruff_cache .hypothesis
