"""Position-based substeps: what solvers/xpbd.py asks of a step."""
