"""Tasks: one file each, with observations, actions, rewards, ends and starts in it."""
