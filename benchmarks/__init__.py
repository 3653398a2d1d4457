"""Measurements against eager and `torch.compile`, the opponents taking turns in one run.

`python -m benchmarks` starts one fresh process for each measurement (benchmarks.measure), prints one JSON
line per figure, then tables with ratios.
"""
