"""Content hashes that do not depend on the process, its hash seed or memory addresses."""

import hashlib


def digest(*parts: str | bytes) -> str:
    """Return 32 hexadecimal characters that depend on the parts and their boundaries alone."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()
