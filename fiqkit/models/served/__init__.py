"""Engines behind HTTP: any OpenAI-compatible server, or a pool of servers."""
