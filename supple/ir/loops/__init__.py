"""Language 2: loop nests over scalars."""
