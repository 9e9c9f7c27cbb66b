"""Robots as people have them: plain records, and one reader for each file format; no physics."""
