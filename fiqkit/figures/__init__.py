"""Numbers to plots. Every figure is a function of the rows of `fiqkit.metrics`, drawn without a display."""
