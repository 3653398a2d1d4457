"""Language 1: tensor operations in SSA form."""
