"""The CPU backend: loop nests -> LLVM IR text -> object code."""
