# make lab    starts the lab on http://localhost:8501
# make test   runs every check and test
# make results   makes anew what assets/results ships: the results of lessons and presets
# Both set up their own virtual environment in .venv; nothing else is needed but Python 3.11 or newer.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PORT ?= 8501

.PHONY: lab test results clean

lab: .venv/lab
	$(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/oxlint --quiet --deny-warnings assets
	$(BIN)/python -m pytest -n auto --dist worksteal -q

screens: .venv/dev
	$(BIN)/python -m tests.browser.take_screens

.venv/lab: requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

.venv/dev: .venv/lab
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

clean:
	rm -rf .venv

results: .venv/lab
	$(BIN)/python -m nlwfa_core.ready --all
