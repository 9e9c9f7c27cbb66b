"""One file per method, one protocol, one result type; solvers see a ContactProblem and nothing else."""
