"""``python -m interplay``."""

from interplay.cli import main

main()
