"""The one function that Python calls to run any kernel; `launcher.ll` says how it does that."""

from pathlib import Path
from typing import Final

SYMBOL: Final = "supple_launch"
TEXT: Final = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
