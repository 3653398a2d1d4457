"""Stage 3: a functional ATen graph becomes loop nests (kernels) and the host program that runs them."""

from supple.schedule.schedule import schedule

__all__ = ["schedule"]
