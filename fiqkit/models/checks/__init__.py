"""What is measured of an engine before a run depends on it."""
