"""vLLM, in this process and as a child."""
