"""Graders: by rules, by a model, and a cascade of both."""
