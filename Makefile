# make demo     everything from nothing to a robot that does a sentence, and a report of it
# make test     the tests
# Both install what they need first (make install), once. Variables: TASK=long/4 BODY=kinematic|franka-sim
# PLANNER=openai POLICY=expert LOCKSTEP=1 SEED=0 INITIAL_STATE=0 INSTRUCTION='...' RUN_DIR=...
# PYTHON=python3.12 TORCH=none ROS_DISTRO_WHEELS=kilted LIBERO=none

SHELL := /bin/sh
.DEFAULT_GOAL := help

PYTHON ?= python3
TORCH ?= 2.13.0
LIBERO ?= yes
ROS_DISTRO_WHEELS ?= jazzy
VENV ?= .venv
COLCON_VENV ?= .venv-colcon
COLCON_DIR ?= build/colcon
FRANKA_SIM_VENV ?= .venv-franka-sim
WORKERS ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMPS := $(VENV)/.stamps
CODE := structrl_ros models sim launch test docs setup.py structrl_msgs/pip .ci $(wildcard benchmarks)
FAST := not slow and not hardware and not hardware_sim and not network

.PHONY: help
help:
	@sed -n '/^# make/,/^$$/s/^# \{0,1\}//p' Makefile
	@echo 'More: install, check, docs, format, test-slow, colcon, franka-sim, vlm-server, bench, licences, clean'

# --- installation: one stamp a step, so that a second call does nothing twice ---------------
# LIBERO comes last: pip would complain at every later step of pins that it does not need.

.PHONY: install
install: in-place $(STAMPS)/editable $(STAMPS)/libero-$(LIBERO) $(STAMPS)/torch-$(TORCH) $(STAMPS)/learning \
    $(STAMPS)/sensors $(STAMPS)/console

# A clone that was moved or copied brings a .venv along whose commands lead to the old place; one
# whose Python was taken away by an update of the system runs nothing.
.PHONY: in-place
in-place:
	@test ! -f $(STAMPS)/venv || $(BIN)/python -c '' 2>/dev/null \
	  || { echo 'structrl: the Python of $(VENV) does not run any more: make clean install' >&2; exit 1; }
	@test ! -f $(STAMPS)/venv || grep -qF '$(abspath $(VENV))' $(BIN)/activate \
	  || { echo 'structrl: $(VENV) was made in another folder and its commands lead there' \
	       '(was this clone moved or copied?): make clean install' >&2; exit 1; }

$(STAMPS)/venv: requirements/system.sh
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; \
	  sys.exit(None if (3, 11) <= v <= (3, 13) else "structrl: Python 3.11 to 3.13 is needed, " \
	  "$(PYTHON) is %d.%d; give another: make install PYTHON=python3.12" % v)'
	@PYTHON=$(PYTHON) requirements/system.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -q --upgrade 'pip>=24' 'setuptools<80' wheel
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/wheels-$(ROS_DISTRO_WHEELS): $(STAMPS)/venv requirements/core.txt \
    requirements/dev.txt requirements/ros-$(ROS_DISTRO_WHEELS).txt
	@echo 'structrl: installing ROS 2 $(ROS_DISTRO_WHEELS) and libraries'
	@$(PIP) install -q -r requirements/core.txt -r requirements/dev.txt \
	  -r requirements/ros-$(ROS_DISTRO_WHEELS).txt
	@touch $@

$(STAMPS)/messages-$(ROS_DISTRO_WHEELS): $(STAMPS)/wheels-$(ROS_DISTRO_WHEELS) \
    $(wildcard structrl_msgs/*.* structrl_msgs/*/*.*)
	@echo 'structrl: building structrl_msgs (about a minute)'
	@STRUCTRL_ROS_DISTRO=$(ROS_DISTRO_WHEELS) $(PIP) install -q --force-reinstall --no-deps \
	  ./structrl_msgs
	@touch $@

$(STAMPS)/editable: $(STAMPS)/messages-$(ROS_DISTRO_WHEELS) setup.py setup.cfg package.xml
	@PYTHONWARNINGS=ignore $(PIP) install -q --no-deps --no-build-isolation -e .
	@touch $@

$(STAMPS)/libero-yes: $(STAMPS)/wheels-$(ROS_DISTRO_WHEELS) requirements/libero.txt \
    requirements/libero-no-deps.txt | $(STAMPS)/torch-$(TORCH)
	@echo 'structrl: installing LIBERO (about 400 MB)'
	@$(PIP) install -q -r requirements/libero.txt
	@$(PIP) install -q --no-deps -r requirements/libero-no-deps.txt
	@touch $@

$(STAMPS)/libero-none: $(STAMPS)/venv
	@touch $@

$(STAMPS)/torch-$(TORCH): $(STAMPS)/wheels-$(ROS_DISTRO_WHEELS) requirements/torch.sh
	@requirements/torch.sh $(VENV) $(TORCH)
	@touch $@

$(STAMPS)/learning: requirements/learning.txt requirements/learning-no-deps.txt \
    requirements/export.txt requirements/planner.txt \
    | $(STAMPS)/torch-$(TORCH) $(STAMPS)/libero-$(LIBERO)
	@echo 'structrl: installing the libraries for training'
	@$(PIP) install -q -r requirements/learning.txt -r requirements/export.txt \
	  -r requirements/planner.txt -r requirements/core.txt
	@$(PIP) install -q --no-deps -r requirements/learning-no-deps.txt
	@touch $@

$(STAMPS)/sensors: requirements/sensors.txt | $(STAMPS)/wheels-$(ROS_DISTRO_WHEELS) \
    $(STAMPS)/libero-$(LIBERO)
	@echo 'structrl: installing the libraries for cameras'
	@$(PIP) install -q -r requirements/sensors.txt
	@touch $@

$(STAMPS)/console: requirements/console.txt | $(STAMPS)/wheels-$(ROS_DISTRO_WHEELS)
	@echo 'structrl: installing the libraries for the console'
	@$(PIP) install -q -r requirements/console.txt
	@touch $@

$(STAMPS)/docs: requirements/docs.txt | $(STAMPS)/editable
	@echo 'structrl: installing the libraries for the site of the docs'
	@$(PIP) install -q -r requirements/docs.txt
	@touch $@

# --- use -----------------------------------------------------------------------------------

.PHONY: demo
demo: install $(if $(filter franka-sim,$(BODY)),$(FRANKA_SIM_VENV)/.stamp)
	@$(BIN)/structrl demo \
	  $(if $(TASK),--task '$(TASK)') $(if $(BODY),--body '$(BODY)') \
	  $(if $(PLANNER),--planner '$(PLANNER)') $(if $(POLICY),--policy '$(POLICY)') \
	  $(if $(filter 1 true yes,$(LOCKSTEP)),--lockstep) $(if $(SEED),--seed '$(SEED)') \
	  $(if $(INITIAL_STATE),--initial-state '$(INITIAL_STATE)') \
	  $(if $(INSTRUCTION),--instruction '$(INSTRUCTION)') $(if $(RUN_DIR),--run-dir '$(RUN_DIR)')

.PHONY: bench
bench: install
	@$(BIN)/structrl bench core

# --- checks --------------------------------------------------------------------------------

.PHONY: check
check: install
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/mypy -p structrl_ros
	@$(BIN)/lint-imports
	@$(BIN)/pytest -q test/test_layout.py

.PHONY: format
format: install
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

.PHONY: test
test: install
	@$(BIN)/pytest -m '$(FAST)' -n $(WORKERS) --dist loadfile

# What failed in the last run, one test after the other.
.PHONY: test-again
test-again: install
	@echo 'once more, alone: the tests that failed'
	@$(BIN)/pytest -m '$(FAST)' --last-failed --last-failed-no-failures none

.PHONY: test-slow
test-slow: install
	@$(BIN)/pytest -m 'slow and not hardware and not hardware_sim and not network'

# colcon gets a virtual environment of its own: an editable install in the same one would hide
# what colcon installed.
.PHONY: colcon
colcon: $(COLCON_VENV)/.stamp
	@.ci/colcon $(COLCON_VENV) $(COLCON_DIR)

$(COLCON_VENV)/.stamp: requirements/system.sh requirements/colcon.txt requirements/core.txt \
    requirements/ros-jazzy.txt
	@PYTHON=$(PYTHON) requirements/system.sh
	@test -x $(COLCON_VENV)/bin/python || $(PYTHON) -m venv $(COLCON_VENV)
	@$(COLCON_VENV)/bin/python -m pip install -q --upgrade 'pip>=24' 'setuptools<80'
	@$(COLCON_VENV)/bin/python -m pip install -q -r requirements/core.txt \
	  -r requirements/ros-jazzy.txt -r requirements/colcon.txt
	@touch $@

# A simulated Franka controller: a virtual environment of its own (it pins an old numpy), and the
# tests that drive it over the real network protocol. They are skipped where it is not installed,
# so that is looked at first: no silence where they did not run.
FRANKA_SIM_TESTS ?= hardware_sim and not slow
FRANKA_SIM_FILES = $$(grep -rl --include='test_*.py' mark.hardware_sim test)

.PHONY: franka-sim
franka-sim: install $(FRANKA_SIM_VENV)/.stamp
	@$(FRANKA_SIM_VENV)/bin/python -c 'import franka_sim' && $(BIN)/python -c 'import pylibfranka' \
	  || { $(call no_franka_sim,make clean-franka-sim franka-sim); }
	@$(BIN)/pytest -m '$(FRANKA_SIM_TESTS)' $(FRANKA_SIM_FILES) \
	  || { echo 'structrl: those that failed run once more: they need a millisecond to be kept'; \
	       $(BIN)/pytest --last-failed --last-failed-no-failures none \
	         -m '$(FRANKA_SIM_TESTS)' $(FRANKA_SIM_FILES); }

$(FRANKA_SIM_VENV)/.stamp: requirements/franka.txt requirements/franka-sim.txt | $(STAMPS)/sensors
	@echo 'structrl: installing the simulated Franka controller (about 175 MB)'
	@$(PIP) install -q -r requirements/franka.txt \
	  || { $(call no_franka_sim,see requirements/franka.txt); }
	@test -x $(FRANKA_SIM_VENV)/bin/python || $(PYTHON) -m venv $(FRANKA_SIM_VENV)
	@$(FRANKA_SIM_VENV)/bin/python -m pip --disable-pip-version-check install -q \
	  -r requirements/franka-sim.txt \
	  || { $(call no_franka_sim,see requirements/franka-sim.txt); }
	@touch $@

# A real server of the chat API with a real, tiny language model: tests of the openai backends that
# are skipped where it is not installed.
.PHONY: vlm-server
vlm-server: install $(STAMPS)/llm-test
	@$(BIN)/pytest -m slow test/models/test_vlm_server.py

$(STAMPS)/llm-test: requirements/llm-test.txt requirements/llm-test-no-deps.txt | $(STAMPS)/learning
	@echo 'structrl: installing a language model and its server (about 200 MB)'
	@$(PIP) install -q -r requirements/llm-test.txt
	@$(PIP) install -q --no-deps -r requirements/llm-test-no-deps.txt
	@touch $@

define no_franka_sim
echo 'structrl: no simulated Franka controller, so no test of the driver ran: $(1)' >&2; exit 1
endef

.PHONY: clean-franka-sim
clean-franka-sim:
	@rm -rf $(FRANKA_SIM_VENV)

# The docs as a site, build/site/index.html; a warning is an error. The variable silences an
# advertisement of the theme about another version of mkdocs.
.PHONY: docs
docs: install $(STAMPS)/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo 'the docs are in build/site/index.html'

.PHONY: licences
licences: install
	@$(BIN)/python docs/licence_table.py

.PHONY: clean
clean:
	@rm -rf build install log dist .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  .import_linter_cache *.egg-info $(VENV) $(COLCON_VENV) $(FRANKA_SIM_VENV)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
