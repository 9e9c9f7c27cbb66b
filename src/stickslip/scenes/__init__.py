"""Scenes of the papers and the benchmarks: functions that return a Scene, a table of them, and how to run one."""
