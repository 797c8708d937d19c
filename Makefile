# make lab    starts the lab, and prints the address to open: http://localhost:8501/?key=…
# make test   checks the code and runs the tests, in a few minutes: for each commit
# make test-all  runs the slow tests, too: whole walks in a browser, trainings, killed processes;
#                with DRAW=--draw, two in five of those, in each run others
# make lock   pins what the lab needs, with hashes, in docs/deployment/requirements.lock
# make audit  asks whether an advisory is known for what is pinned there
# make docs   builds the documentation site: docs/_build/html/index.html
# make map    draws docs/architecture.svg from what the packages import
# make teaching  writes docs/teaching.md from the lessons and the notes for teachers
# make results   makes anew what assets/results ships: the results of lessons and presets
# Both set up their own virtual environment in .venv; nothing else is needed but Python 3.11 or newer.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
LOCK := docs/deployment/requirements.lock
# One more than the processors, where most tests walk in a browser: there, they wait for a third of their time.
WORKERS = $(shell $(BIN)/python -c "import os; print(1 + (os.cpu_count() or 1))")
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --durations=10 $(DRAW)
PORT ?= $(or $(STREAMLIT_SERVER_PORT),8501)
# An index with torch's builds for processors alone. The usual index has, for Linux, the build for graphics cards: gigabytes more.
TORCH_INDEX ?=

# Not all of what is installed is compiled, but what is used, when it is first used: a minute less on
# a fresh machine.
INSTALL := pip install --quiet --disable-pip-version-check --no-compile
export PYTHONDONTWRITEBYTECODE :=

.PHONY: lab test test-slow test-all docs screens map teaching results lock audit clean

lab: .venv/lab
	$(BIN)/python -m streamlit run app.py --server.port $(PORT)

# Types are checked while the tests run: that takes one processor half a minute where mypy has no cache.
test: SELECTED = -m "not slow"
test: WORKERS = auto
test test-all: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint --quiet --deny-warnings assets
	$(BIN)/mypy > .venv/types.log 2>&1 & types=$$!; \
	$(PYTEST) $(SELECTED); tests=$$?; \
	wait $$types; types=$$?; cat .venv/types.log; exit $$((tests + types))

test-slow: .venv/dev
	$(PYTEST) -m slow

screens: .venv/dev
	$(BIN)/python -m tests.browser.take_screens

docs: .venv/docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

map: .venv/dev
	$(BIN)/python -m tests.architecture

teaching: .venv/dev
	$(BIN)/python -m tests.core.teaching.test_class_plan

.venv/lab: requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m $(INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -r requirements.txt
	$(BIN)/python -m $(INSTALL) --no-deps --editable .
	touch $@

.venv/dev: .venv/lab
	$(BIN)/python -m $(INSTALL) --upgrade 'pip>=25.1'
	$(BIN)/python -m $(INSTALL) --group dev
	touch $@

.venv/docs: .venv/lab
	$(BIN)/python -m $(INSTALL) --editable '.[docs]'
	touch $@

.venv/deploy: .venv/lab
	$(BIN)/python -m $(INSTALL) --upgrade 'pip>=25.1'
	$(BIN)/python -m $(INSTALL) --group deploy
	touch $@

# torch's build for processors alone is called 2.13.0+cpu; pinned is 2.13.0 with that build's hash, which no other build has.
lock: .venv/deploy
	cp requirements.txt .venv/requirements.txt
	cd .venv && bin/pip-compile --quiet --upgrade --strip-extras --allow-unsafe --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock requirements.txt
	sed -n '/^#/p;/^[^#]/q' $(LOCK) > .venv/head.lock
	sed 's/^torch==\([^+ ]*\)+cpu /torch==\1 /' .venv/requirements.lock | cat .venv/head.lock - > $(LOCK)

audit: .venv/deploy
	$(BIN)/pip-audit --requirement $(LOCK) --require-hashes --disable-pip --progress-spinner off --timeout 15

clean:
	rm -rf .venv

results: .venv/lab
	$(BIN)/python -m nlwfa_core.teaching.shipped --all
