"""Training a model to clarify, in the same `Environment` that evaluates it: demonstrations, SFT, KTO, GRPO."""
