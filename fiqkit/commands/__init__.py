"""One file a command: it parses the arguments, calls one function and prints. `fiqkit.cli` lists them."""
