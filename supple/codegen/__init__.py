"""Stage 4: kernels and the host program -> machine code and Python text, in one artifact."""
