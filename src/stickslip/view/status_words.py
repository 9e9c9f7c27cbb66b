"""Words for how steps ended and for the laws of solvers, as warnings of runs use them."""

STATUS_WORDS = {
    "max-iterations": "ran out of iterations",
    "max-seconds": "ran out of time",
    "stalled": "stalled",
    "diverged": "diverged",
    "passed-through": "let a body pass through another",
    "joints-apart": "left rigid joints apart",
    "turned-too-far": "turned a touching body by more than its contacts can carry",
    "overlapping": "pushed bodies into each other where no contact was known",
    "converged": "were called converged, but made energy of nothing",
}
NOT_OF_THE_SOLVER = ("diverged", "passed-through", "joints-apart", "turned-too-far", "overlapping")
"""Statuses of steps that are wrong whatever the solver says of them."""
LAW_WORDS = {
    "convex": "the solver obeys the convex law, in which sliding bodies glide",
    "box": "the solver obeys a box in the place of the cone",
    "pyramid": "the solver obeys a pyramid in the place of the cone",
    "penalty": "the solver puts springs in the place of the law",
}
