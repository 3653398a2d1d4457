"""What a figure was measured on."""

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path


def commit(root: Path) -> str:
    """Return the short commit of the checkout, with `+` when files differ from it; "unknown" outside git."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], cwd=root, capture_output=True, text=True, check=False
    )
    return described.stdout.strip() or "unknown"


def processor() -> str:
    """Return the processor's name."""
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.exists() else ""
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1] if found else platform.processor()


def machine() -> str:
    """Return processor, cores, Python and torch in one line."""
    return (
        f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, torch {version('torch')}"
    )
