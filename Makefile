# make demo    what two example trees disclose, and one of them pruned (installs the project into .venv first)
# make test    the test suite          make lint    ruff          make types    strict mypy
# make slow    the tests that take long, all of them              make hunt    searches with new seeds: TIME=3600 SEED=7
# make pages   whether the pages of papers are what their programs make of the data today (15 minutes)
# make bench   this version beside others, twelve tasks: BEFORE=988728d RUNS=5; writes docs/benchmarks.md
# make peers   other programs, each in an environment of its own (.peers/), that tests and benchmarks compare with
# make reproduce   every experiment of five papers and every figure of docs/, from the data in the folder MAXENT_DATA (hours)
# make docs    the documentation, in site/                       make wheel   dist/*.whl
# make release dist/: wheel and source tried on every Python that is found, checksums, and an SBOM
# make clean   remove everything that make made, but results/
#
# The newest of these that runs is used; name another with: make PYTHON=/usr/bin/python3.12 demo
PYTHONS = python3.13 python3.12 python3.11 python3
PYTHON  = $(firstword $(foreach python,$(PYTHONS),$(shell $(python) -c $(USABLE) >/dev/null 2>&1 && echo $(python))))
USABLE  = 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'

WORKERS ?= 2

# Each worker has a core: threads of linear algebra that wait for one another would take it from the other worker.
ALONE = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

VENV = .venv
BIN  = $(VENV)/bin
BASE = $(VENV)/.installed
DEV  = $(VENV)/.installed-dev
DEMO = demo/diabetes
PATIENTS = $(DEMO)/truth.csv --target progression --qi age,sex,bmi,bp --max-depth 5

.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: demo test slow hunt bench peers lint copy types docs pages reproduce wheel release clean

demo: $(BASE)
	@echo '== Eleven people (examples/d1)'
	$(BIN)/maxent estimate examples/d1/tree.json examples/d1/qi.csv --truth examples/d1/truth.csv
	@echo
	@echo '== 442 diabetes patients (examples/diabetes.py)'
	$(BIN)/python examples/diabetes.py $(DEMO)
	$(BIN)/maxent estimate $(DEMO)/tree.json $(DEMO)/qi.csv --truth $(DEMO)/truth.csv
	@echo
	@echo '== The same patients, before and after pruning'
	$(BIN)/maxent defend none $(PATIENTS) -o $(DEMO)/before.json
	$(BIN)/maxent defend prune-parent $(PATIENTS) --k 10 -o $(DEMO)/after-k10.json
	$(BIN)/maxent compare $(DEMO)/before.json $(DEMO)/after-k10.json $(DEMO)/qi.csv --truth $(DEMO)/truth.csv \
	  --max-certain 0 --min-k 10 --knowledge label,rate,counts --report $(DEMO)/report.html
	@echo
	@echo 'That is about an adversary who does not know how splits were chosen (--knowledge): for one who does, the pruned'
	@echo 'tree fails, as the classes of two people are proved: docs/report.md.'
	@echo
	@echo '== For whoever decides: open $(DEMO)/report.html in a browser'

test: $(DEV)
	$(ALONE) $(BIN)/python -m pytest -n $(WORKERS) $(CHOSEN)

slow: $(DEV)
	$(ALONE) $(BIN)/python -m pytest -m slow -n $(WORKERS) --maxschedchunk 1 --durations 15

# Seconds, and the number of the first round; without SEED another one each time, which is printed. ONLY: some searches.
TIME ?= 600
hunt: $(DEV)
	$(BIN)/python tests/hunt.py --time $(TIME) $(addprefix --seed ,$(SEED)) --workers $(WORKERS) $(ONLY)

# Their dependencies do not fit into one environment with ours.
PEERS = acro==1.0.2 sacroml==2.0.1 roc-validator==0.13.0 mbi==2.0.0 ipfn==1.4.4 pytauargus==0.6.0
peers:
	@for peer in $(PEERS); do \
	  echo "== $$peer"; \
	  place=.peers/$${peer%%==*}; \
	  $(PYTHON) -m venv $$place && $$place/bin/python -m pip install --quiet $$peer || exit 1; \
	done

# Revisions to compare with, and how many times each command runs; ONLY: tasks with a text in their names.
BEFORE ?= 988728d
RUNS ?= 5
bench: $(DEV)
	$(BIN)/python benchmarks/versions.py --before $(BEFORE) --runs $(RUNS) $(if $(ONLY),--only '$(ONLY)' --print)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# What reads the code without running it does not follow the folder mapping of an editable install: it gets a regular one.
copy: $(DEV)
	rm -rf build
	$(BIN)/python -m pip install --quiet --no-deps --target build/copy .

# Run from where no folder named maxent/ hides most of the package.
types: copy
	cd tests && MYPYPATH=../build/copy ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache -p maxent

# Not with --quiet: warnings that are not shown are not counted as errors either.
docs: copy
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

# Some of them: make STUDIES='yang-2019 zhu-2010 plots' reproduce
reproduce: $(DEV)
	PYTHONPATH=examples $(BIN)/python -m papers.reproduce $(addprefix --only ,$(STUDIES))

# The same, with every file compared in place of written.
pages: $(DEV)
	PYTHONPATH=examples $(BIN)/python -m papers.reproduce --check $(addprefix --only ,$(STUDIES))

# What an earlier build left in build/ would end up in the wheel.
wheel: $(DEV)
	rm -rf build dist
	$(BIN)/python -m build --wheel

release: $(DEV)
	$(BIN)/python .ci/release.py

clean:
	rm -rf $(VENV) .venv-newest build dist demo site *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n '$(PYTHON)' || { \
	  echo 'maxent needs Python 3.11 or newer with the venv module; tried: $(PYTHONS).' >&2; \
	  echo 'Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3' >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BASE): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# With the tools goes the project itself: nothing is left to install for the demo.
$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(BASE) $@
