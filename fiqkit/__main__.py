"""`python -m fiqkit` is the console script."""

from fiqkit.cli import main

main()
