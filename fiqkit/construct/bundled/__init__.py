"""The generator of the bundled set: facts to instances, passages and index. See docs/data.md."""
