"""User simulators: by rules and by a model."""
