"""The stage: a browser view of a scenario that runs live in its own process, or of a recording."""
