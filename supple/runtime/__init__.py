"""All that compiled code needs to run. Imports base only (and torch, ctypes, llvmlite), never a compiler."""
