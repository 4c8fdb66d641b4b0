# What can be run from here. The first use builds an environment in .venv; it is rebuilt when pyproject.toml changes.

VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
OLDEST := $(VENV)-oldest
DELTA  := $(VENV)-delta-spark
CLIENTS := $(VENV)-clients
ICEBERG := $(VENV)-iceberg-spark
REST    := 1.10.1
PYLANCE := $(VENV)-pylance
AZURITE := $(VENV)-azurite
OLDER_PYLANCE := 10.0.0 0.39.0
PYTEST := $(BIN)/python -m pytest -q

# As many workers as cores, up to four: each has a Spark of its own. tests/shares.py says who runs what.
SHARED := -n logical --maxprocesses 4

# What another Spark may do differently: plan, read and write. Which files are read, and by which commands, is decided without it.
ON_OLDEST := tests/spark tests/core tests/iceberg/test_spark_writing.py tests/lance/test_spark.py \
  $(addsuffix /test_corpus.py::test_rows_are_what_independent_readers_see,tests/delta tests/iceberg)

# Spark takes the Java of JAVA_HOME, else the one on the path.
JAVA_17 = [ "$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | grep . || echo 0)" -ge 17 ]

.PHONY: help demo test test-peers test-oldest verify-clients fuzz rivals bench lint docs clean
.DEFAULT_GOAL := help

help:  ## these lines
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|' 2>/dev/null || grep '##' Makefile

demo: $(STAMP)  ## a whole pipeline on a table made for it; without Java 17 or newer, what needs Spark is left out
	@$(BIN)/esker demo

test: lint  ## lint, then all tests but the comparisons with peers
	@$(JAVA_17) || echo "Java 17 or newer was not found: the tests that need Spark are skipped." >&2
	@$(PYTEST) $(SHARED) -m "not peers and not fuzz"

fuzz: $(STAMP)  ## mutate logs, checkpoints and vectors for some minutes, and try properties on new examples
	@ESKER_EXAMPLES=new $(PYTEST) $(SHARED) -m "(fuzz or hypothesis) and not peers"

rivals: $(STAMP)  ## processes that change one table at once, for some minutes
	@ESKER_RIVALS_SECONDS=$${ESKER_RIVALS_SECONDS:-150} $(PYTEST) -s tests/rivals/test_processes.py tests/rivals/test_iceberg_processes.py

test-peers: $(STAMP) $(DELTA)/.installed $(ICEBERG)/.installed $(PYLANCE)/.installed $(AZURITE)/.installed test-oldest  ## other implementations against Esker, and Esker on the oldest Spark it supports
	@ESKER_DELTA_SPARK=$(DELTA)/bin/python ESKER_ICEBERG_SPARK=$(ICEBERG)/bin/python ESKER_ICEBERG_REST=$(ICEBERG)/iceberg-open-api-$(REST).jar ESKER_PYLANCE=$(abspath $(PYLANCE)) ESKER_AZURITE=$(AZURITE)/node_modules/.bin/azurite-blob $(PYTEST) $(SHARED) -m peers $(PEERS) || { code=$$?; [ $$code -eq 5 ] || exit $$code; echo "No test is marked peers."; }

test-oldest: $(OLDEST)/.installed  ## what another Spark may do differently, on the oldest Spark supported
	@$(OLDEST)/bin/python -m pytest -q $(SHARED) -m "(spark or connect) and not peers" -k "not (independent_readers and portable)" $(ON_OLDEST)

verify-clients: $(STAMP) $(DELTA)/.installed  ## install releases of other clients, and compare what they do with the data on them
	@ESKER_CLIENTS=$(abspath $(CLIENTS)) ESKER_DELTA_SPARK=$(abspath $(DELTA))/bin/python $(BIN)/python -m tests.interop.clients $(VERIFY)

bench: $(STAMP) $(DELTA)/.installed $(ICEBERG)/.installed  ## Esker and its peers in one run, as ratios
	@ESKER_DELTA_SPARK=$(abspath $(DELTA))/bin/python ESKER_ICEBERG_SPARK=$(abspath $(ICEBERG))/bin/python $(BIN)/python -m bench

lint: $(STAMP)  ## style, types, layers
	@$(BIN)/ruff check --quiet --output-format concise
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > $(VENV)/lint-imports.log || { cat $(VENV)/lint-imports.log; exit 1; }

docs: $(STAMP)  ## print the references of features, properties, rules and clients, then check what the documents say and where their links lead
	@$(BIN)/python -m esker.cli.feature_reference > docs/features.md
	@$(BIN)/python -m esker.cli.property_reference > docs/properties.md
	@$(BIN)/python -m esker.cli.rule_reference > docs/checking.md
	@$(BIN)/python -m esker.cli.client_reference > docs/clients.md
	@$(PYTEST) tests/architecture/test_docs.py tests/cli/test_docs.py

clean:  ## remove the environment and all caches
	@rm -rf $(VENV) $(OLDEST) $(DELTA) $(CLIENTS) $(ICEBERG) $(PYLANCE) $(AZURITE) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(OLDEST)/.installed: $(STAMP) pyproject.toml
	@[ -x $(OLDEST)/bin/python ] || $(BIN)/python -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	@echo 'pyspark==4.0.0' > $(OLDEST)/constraints.txt # a constraint, or pip fetches each newer Spark before it settles for this one
	@$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --editable '.[dev]'
	@touch $@

# Older releases of pylance, each in an environment of its own.
$(PYLANCE)/.installed: $(STAMP) Makefile
	@for release in $(OLDER_PYLANCE); do \
	  $(BIN)/python -m venv $(PYLANCE)/pylance-$$release; \
	  $(PYLANCE)/pylance-$$release/bin/python -m pip install --quiet "pylance==$$release"; \
	done
	@touch $@

# Azure's own test server.
$(AZURITE)/.installed: Makefile
	@mkdir -p $(AZURITE)
	@if command -v npm > /dev/null; then npm install --silent --no-save --prefix $(AZURITE) azurite@3; \
	else echo "npm was not found: the tests of Azure are skipped." >&2; fi
	@touch $@

# delta-spark needs a Spark of its own. Its jars stay in here too; they are fetched by starting it once, and not by two workers.
$(DELTA)/.installed: $(STAMP) Makefile
	@[ -x $(DELTA)/bin/python ] || $(BIN)/python -m venv $(DELTA)
	@$(DELTA)/bin/python -m pip install --quiet --upgrade pip
	@$(DELTA)/bin/python -m pip install --quiet 'delta-spark==4.4.0' 'pandas>=2.2,<3' 'pyarrow>=19'
	@$(DELTA)/bin/python tests/interop/delta_spark.py < /dev/null > $(DELTA)/jars.log 2>&1 || { cat $(DELTA)/jars.log; exit 1; }
	@touch $@

# So does iceberg-spark, whose runtime is made for one Spark alone.
$(ICEBERG)/.installed: $(STAMP) Makefile
	@[ -x $(ICEBERG)/bin/python ] || $(BIN)/python -m venv $(ICEBERG)
	@$(ICEBERG)/bin/python -m pip install --quiet --upgrade pip
	@$(ICEBERG)/bin/python -m pip install --quiet 'pyspark==4.0.1'
	@$(ICEBERG)/bin/python tests/interop/iceberg_spark.py $(ICEBERG) < /dev/null > $(ICEBERG)/jars.log 2>&1 || { cat $(ICEBERG)/jars.log; exit 1; }
	@if command -v mvn > /dev/null; then mvn -q dependency:copy -Dartifact=org.apache.iceberg:iceberg-open-api:$(REST) -DoutputDirectory=$(abspath $(ICEBERG)); \
	else echo "Maven was not found: the tests of the REST catalog are skipped." >&2; fi
	@touch $@

$(STAMP): pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
	  for python in $(PYTHON) python3.11 python3 python3.12 python3.13 python; do \
	    $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	    python=; \
	  done; \
	  [ -n "$$python" ] || { echo "Python 3.11 or newer, with venv, was not found: install it or name it, as in make PYTHON=/path/to/python." >&2; exit 1; }; \
	  echo "Building $(VENV) with $$($$python --version); the first time takes a few minutes." >&2; \
	  $$python -m venv $(VENV); \
	fi
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
