"""Scenario files: YAML that an animator writes; read, checked, and made into a scenario. No code runs from a file."""
