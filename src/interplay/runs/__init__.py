"""Running scenarios: one run, benchmarks, comparisons."""
