"""How things that scenes move get from one place to another."""


def smooth_step(share: float) -> float:
    """From 0 to 1 for shares from 0 to 1, with velocity and acceleration zero at both ends."""
    s = min(1.0, max(0.0, share))
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))
