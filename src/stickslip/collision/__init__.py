"""From shapes in the world to contact points: broad phase, narrow phase, manifolds; knows no forces."""
