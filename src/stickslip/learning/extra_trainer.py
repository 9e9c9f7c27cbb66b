"""The trainer and PyTorch, or an error that says how to install them."""

from importlib.util import find_spec

from stickslip.errors import MissingDependencyError

_missing = [name for name in ("torch", "stable_baselines3") if find_spec(name) is None]
if _missing:
    raise MissingDependencyError(
        f"training needs {' and '.join(_missing)}; install with: pip install 'stickslip[train]' (on Linux do first: "
        "pip install torch --index-url https://download.pytorch.org/whl/cpu, which spares gigabytes of CUDA)"
    )

import torch  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.logger import Logger, make_output_format  # noqa: E402
from stable_baselines3.common.vec_env import VecEnv, VecNormalize  # noqa: E402

__all__ = ["PPO", "BaseCallback", "Logger", "VecEnv", "VecNormalize", "make_output_format", "torch"]
