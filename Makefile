# make demo, make test: on a fresh machine with python3 (3.11 or newer) and a Rust toolchain, and nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip --disable-pip-version-check --quiet
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PYTHON_SOURCES := python tests docs/_site $(wildcard benches)
DEMO := results/demo

GUEST := python/bloatlab/engines/linux_virtual/bloatlab-guest

.PHONY: demo test test-rust test-python lint lint-rust lint-python format models docs site lab guest test-lab test-virtual golden release wheel bench soak soak-queues soak-cases soak-hostile soak-grid soak-store soak-live clean
.DELETE_ON_ERROR:

demo: $(VENV)/.built
	$(BIN)/bloatlab run deep-buffers --out $(DEMO)

# Random cases are the same in each run; make test SEED=7 draws others, and the soaks draw many more.
SEED ?= 2026
test: test-rust test-python

test-rust:
	PROPTEST_RNG_SEED=$(SEED) cargo test --quiet

test-python: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m pytest --hypothesis-seed=$(SEED)

lint: lint-rust lint-python

lint-rust:
	rustfmt --edition 2024 --check $$(git ls-files '*.rs')
	cargo clippy --quiet --workspace --all-targets -- -D warnings

lint-python: $(VENV)/.dev $(VENV)/.built
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	@$(MAKE) --no-print-directory site

format: $(VENV)/.dev
	rustfmt --edition 2024 $$(git ls-files '*.rs')
	$(BIN)/ruff check --fix $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)

docs: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python tests/parity/write_docs.py
	$(BIN)/python tests/parity/real_linux_page.py
	$(BIN)/python tests/docs/queue_pages.py
	$(BIN)/python tests/docs/cc_pages.py

# The documentation site in site/: a broken link or anchor fails. For its search: python3 -m http.server -d site.
site: $(VENV)/.site $(VENV)/.built
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The lab in a browser tab, into the Python package: needs node, and the WebAssembly target that web/build-engine.sh names.
lab:
	@command -v npm >/dev/null || { echo "make: the lab needs node and npm"; exit 1; }
	cd web && npm ci --silent
	sh web/build-engine.sh
	cd web && npm run --silent build
	rm -rf python/bloatlab/lab/static python/bloatlab/lab/single
	cp -r web/dist python/bloatlab/lab/static
	cp -r web/dist-single python/bloatlab/lab/single

# The agent of kernels in virtual time, into the Python package, so that a wheel carries it.
guest: $(GUEST)

$(GUEST): $(RUST)
	cargo build --quiet --release -p bloatlab-guest
	strip -o $@ target/release/bloatlab-guest

# The lab as a user has it, in Chromium (Debian: apt-get install chromium), and the engine's digests in WebAssembly.
test-lab: lab $(VENV)/.dev $(VENV)/.built
	cd web && npm test

# Runs in a Linux kernel in virtual time, which is built once (make test-virtual SOURCE=linux-7.2.tar.xz; without SOURCE, the distribution's source).
SOURCE ?=
test-virtual: guest $(VENV)/.dev $(VENV)/.built
	@$(BIN)/bloatlab kernel list --json | grep -q '"release"' || $(BIN)/bloatlab kernel build $(if $(SOURCE),--source $(SOURCE))
	$(BIN)/python -m pytest tests/python/test_linux_virtual.py

golden: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python tests/golden/write_digests.py

# The scenario document as pydantic models, from the engine's schema.
models: $(VENV)/.dev $(VENV)/.built
	$(PIP) install -e '.[models]' --no-build-isolation
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m bloatlab.scenario.generate

# A wheel optimized with a profile of benches/training.py, in dist/. It needs llvm-profdata of the compiler's version.
release: $(VENV)/.dev
	@command -v rustup >/dev/null && rustup component add llvm-tools || echo "make: without rustup, llvm-profdata of the compiler's LLVM version must be on the PATH"
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin build --release --pgo --out dist

# A wheel for any Linux since 2014 (manylinux2014: zig links it with an old C library) and the source distribution, in dist/.
wheel: $(VENV)/.made
	$(PIP) install 'maturin[zig]>=1.9,<2'
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin build --release --zig --compatibility manylinux2014 --out dist
	$(BIN)/maturin sdist --out dist

# Measures speed: all parts, or some (make bench BENCH="--only congestion-controls radio").
BENCH ?=
bench: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python benches/run.py $(BENCH)

soak: soak-queues soak-cases soak-hostile soak-grid soak-store soak-live

# Every queue under ten million operations of the model (make soak-queues SOAK="--kind codel --seed 7").
SOAK ?= --operations 10000000
soak-queues:
	cargo run --quiet --profile soak -p bloatlab-aqm --example soak -- $(SOAK)

# Every fuzz target, with the stable compiler: an hour of random cases (make soak-cases CASES="--target scenario --seconds 600 --seed 7").
CASES ?= --seconds 3600
soak-cases:
	cargo run --quiet --profile soak -p bloatlab-fuzz-model --example soak -- $(CASES)

# Crafted stores and scenario files, read for ten minutes (make soak-hostile HOSTILE="--seconds 60 --seed 7").
HOSTILE ?= --seconds 600
soak-hostile: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python tests/soak/hostile.py $(HOSTILE)

# The survey's 57,600 runs, left alone and killed five times (make soak-grid GRID="plan.toml --kills 9 --seed 7").
GRID ?= examples/aqm-survey-grid.toml
soak-grid: $(VENV)/.installed $(VENV)/.built
	$(BIN)/python tests/soak/grid.py $(GRID)

# Faults at every call of small sweeps, 200 kills, 12,000 flipped bits (make soak-store STORE="--every 10 --kills 20").
STORE ?=
soak-store: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python tests/soak/store.py $(STORE)

# 50 runs on the real Linux stack killed at random moments, and a full disk (make soak-live LIVE="--kills 200 --seed 7").
LIVE ?=
soak-live: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python tests/soak/live.py $(LIVE)

clean:
	rm -rf $(VENV) site target python/bloatlab/_core*.so $(GUEST) web/dist web/dist-single web/node_modules python/bloatlab/lab/static python/bloatlab/lab/single

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "make: python3 (3.11 or newer) is needed"; exit 1; }
	@command -v cargo >/dev/null || { echo "make: a Rust toolchain is needed (https://rustup.rs)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $$($(PYTHON) --version) is too old, 3.11 or newer is needed (make PYTHON=python3.12 ...)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "make: python3 cannot make virtual environments: install its venv package (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install 'maturin>=1.9,<2'
	@touch $@

# The package with what a report needs, editable, built in release mode.
$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(PIP) install --no-build-isolation -e '.[report]'
	@touch $@ $(VENV)/.built

# What tests and linters need besides.
$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install --no-build-isolation -e '.[dev]'
	@touch $@ $(VENV)/.built

# What the documentation site needs besides.
$(VENV)/.site: $(VENV)/.installed
	$(PIP) install --no-build-isolation -e '.[site]'
	@touch $@ $(VENV)/.built

# Only the extension module, when Rust sources have changed since.
$(VENV)/.built: $(VENV)/.installed $(RUST)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --quiet --skip-install
	@touch $@
