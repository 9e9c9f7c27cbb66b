"""Many worlds of one scene: the class that people hold, its states, parameters, certificates and rollouts."""
