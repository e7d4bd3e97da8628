"""How the bundled benchmark is made from public facts; `python -m fiqkit.construct.bundled`."""
