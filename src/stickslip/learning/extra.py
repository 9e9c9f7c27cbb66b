"""gymnasium, or an error that says how to install it."""

from stickslip.errors import MissingDependencyError

try:
    import gymnasium
except ImportError:
    raise MissingDependencyError("environments need gymnasium; install it with: pip install 'stickslip[rl]'") from None

__all__ = ["gymnasium"]
