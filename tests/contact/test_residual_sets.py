"""Residuals of friction sets other than discs: how far they are from the natural map with De Saxce's correction."""

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.elliptic_cone import project_elliptic_cone
from stickslip.contact.laws import CONTACT, DISC, row_square
from stickslip.contact.problem import ContactProblem
from stickslip.contact.random_problems import random_problem
from stickslip.contact.residual import residual
from stickslip.solvers.registry import make_solver


def natural_map(problem: ContactProblem, lam: Array) -> float:
    """|s - P_K(s - u~)| over |q| with De Saxce's correction for all sets, spins at ``torsion_length``."""
    u = problem.law_velocity(lam, problem.constraint_velocity(problem.velocity(lam)))
    laws, start, total = problem.laws, problem.J.row_start, 0.0
    for c in range(problem.block_count):
        i, weight = start[c], problem.law_weight[c]
        if laws.law[c] != CONTACT:
            total += sum(row_square(laws, lam, u, weight, c, k) for k in range(i, start[c + 1]))
            continue
        s, w, axes = np.zeros(4), np.zeros(4), np.zeros(3)
        s[:3], w[:3], axes[:2] = weight * lam[i : i + 3], u[i : i + 3], laws.friction[c, :2]
        if laws.friction_set[c] == DISC:
            axes[1] = axes[0]
        if start[c + 1] - i > 3:
            radius = problem.torsion_length[c]
            s[3], w[3] = weight * lam[i + 3] / radius, radius * u[i + 3]
            axes[2] = laws.friction[c, 2] / radius if laws.friction_set[c] != DISC else 0.0
        opening = float(np.sqrt(((axes * w[1:]) ** 2).sum()))
        z = s - w
        closest = np.array(project_elliptic_cone(z[0] - opening, z[1], z[2], z[3], *axes))
        total += float(((s - closest) ** 2).sum())
    return float(np.sqrt(total)) / (problem.free_speed or 1.0)


def test_both_maps_say_the_same_within_a_factor_of_five() -> None:
    """On iterates of two solvers, from 1e-11 to 1, of problems with torsion, ellipses, joints and masses to 1e8."""
    ratios = []
    for seed in range(60):
        drawn = random_problem(seed, wide=True)
        laws = drawn.problem.laws
        if not ((laws.law == CONTACT) & (laws.friction_set != DISC)).any():
            continue
        for name, iterations in (("prox-gs", 5), ("prox-gs", 50), ("nesterov", 40)):
            lam = make_solver(name, max_iterations=iterations).solve(drawn.problem).lam
            value = residual(drawn.problem, lam).scaled
            if 1e-11 < value < 1.0:
                ratios.append(natural_map(drawn.problem, lam) / value)
    assert len(ratios) > 20
    assert min(ratios) > 0.2
    assert max(ratios) < 5.0
    assert 0.95 < np.median(ratios) < 1.05
