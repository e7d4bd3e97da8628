"""Other ecosystems' doors: the benchmark as an Inspect task, recorded runs as Inspect logs."""
