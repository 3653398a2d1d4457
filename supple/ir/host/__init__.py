"""Language 3: what runs on the host between kernels."""
