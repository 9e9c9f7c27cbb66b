"""The interior-point solver: its loop, second-order cones, intervals."""
