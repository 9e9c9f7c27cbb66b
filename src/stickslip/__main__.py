"""``python -m stickslip``."""

import sys

from stickslip.cli import main

sys.exit(main())
