"""The symbolic CPython interpreter: an opcode table over a stack of values."""
