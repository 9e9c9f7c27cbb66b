"""An exact solver for small islands, compiled whole: sweeps, then Newton steps on a dense Delassus matrix."""
