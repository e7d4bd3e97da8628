"""Engines that run a model in this process: llama.cpp and transformers, batched."""
