# This library carries no type information; everything of it is Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
