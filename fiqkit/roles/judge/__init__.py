"""Judges: by rules and by a model."""
