"""A humanoid gets up from lying on its front and on its back: how its key postures were found, and that they serve.

Run: python examples/humanoid_gets_up.py [--search] [--seed 1]

Without ``--search`` the postures that are kept in ``stickslip.scenes.getting_up`` are tried in worlds whose robots
start with other velocities each. With it they are found anew, in three parts; the same seed gives the same postures:

1. From lying on its front: posture by posture, each 0.24 s after the last one. The cross-entropy method chooses five
   postures ahead in 64 worlds by where the robot is with them, and the first of them is kept.
2. These are bettered until the robot squats still: random search about the best so far, with starts that are disturbed.
3. From lying on its back: three postures of all joints that roll it over, by the cross-entropy method.

Each part takes a minute or two of one core. The postures that are kept are those of seed 1, rounded to degrees.
"""

import argparse

import numpy as np

from stickslip import Worlds
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.getting_up import (
    BOTH_SIDES,
    CROUCH,
    EACH,
    GETS_UP,
    JOINTS,
    LEAST,
    LIES,
    LIES_STILL,
    MOST,
    RESTS,
    ROLL,
    SQUATS,
    TOLD,
    both_sides,
    lying,
)
from stickslip.scenes.humanoid import humanoid, targets

KNOWN = np.array([
    [-35, 0, 0, -78, -115, -45, 0, 0, 0], [-40, 0, 0, -110, -155, -50, 0, 0, 0], [-20, 0, 0, -50, -70, -28, 0, 0, 0],
    [0, 0, 0, 0, 0, -45, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0], [-70, -20, 0, -110, -150, -40, 0, 0, 0],
    [-60, -20, -30, -110, -140, -30, 0, 0, 0],
])  # fmt: skip
"""[deg] postures that people would try: crouching, squatting deep, bent, straight on toes, standing, knees apart."""
SPREAD = np.array([25.0, 6.0, 10.0, 35.0, 45.0, 25.0, 35.0, 35.0, 35.0])
COARSE, FINE = 0.01, 0.005
"""[s] step sizes."""


class Robots:
    """Copies of the robot in worlds of their own."""

    def __init__(self, count, dt):
        self.worlds = Worlds(humanoid("stand"), count=count, dt=dt)
        (self.robot,) = self.worlds.robots.values()
        self.names = self.robot.joint_names[1:]
        self.count, self.steps = count, round(TOLD / dt)

    def lie(self, how):
        """All lie at rest; their drives hold them."""
        q = np.tile(lying(how, self.names), (self.count, 1))
        self.worlds.reset()
        self.worlds.set_joint_positions(self.robot, q)
        self.follow(q[:, 7:], q[:, 7:], RESTS)
        return self.worlds.get_state([0])

    def begin(self, states, which, noise=0.0, rng=None):
        """World k goes on from state which[k], with velocities of ``noise`` [m/s], [rad/s] added."""
        self.worlds.set_state(states.take(which))
        if np.any(noise):
            v = self.worlds.joint_velocities(self.robot)
            self.worlds.set_joint_velocities(self.robot, v + noise * rng.standard_normal(v.shape))

    def follow(self, before, after, seconds=EACH, see=None):
        """Targets [rad] go evenly from one posture to another; ``see`` is called four times."""
        count = round(seconds / TOLD)
        for k in range(count):
            self.worlds.step(before + (after - before) * ((k + 1) / count), self.steps)
            if see is not None and (k + 1) % (count // 4) == 0:
                see(self.seen())

    def seen(self):
        """Where bodies are: of all worlds."""
        centre, mass, at = 0.0, 0.0, {}
        for link in self.robot.record.links:
            p, q = self.worlds.link_pose(self.robot, link.name)
            at[link.name] = p, matrices(q)
            centre, mass = centre + link.mass * (p + at[link.name][1] @ np.array(link.centre)), mass + link.mass
        torso, turn = at["torso"]
        feet = [at["right_foot"], at["left_foot"]]
        return {
            "centre": centre / mass, "head": (torso + turn @ [0.0, 0.0, 0.19])[:, 2], "torso": turn,
            "feet": 0.5 * sum(p + R @ [0.035, 0.0, 0.0] for p, R in feet),
            "flat": 0.5 * sum(R[:, 2, 2] for _, R in feet), "foot": 0.5 * sum(p[:, 2] for p, _ in feet),
            "v": self.worlds.joint_velocities(self.robot),
        }  # fmt: skip


def matrices(q):
    """(n, 3, 3) of unit quaternions (n, 4)."""
    w, x, y, z = q.T
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z),
        2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(rows, axis=-1).reshape(-1, 3, 3)


def rising(seen):
    """(n,) how far from standing: low, not above its feet, leaning, feet not flat or in the air, fast."""
    aside = np.linalg.norm((seen["centre"] - seen["feet"])[:, :2], axis=1)
    v, R = seen["v"], seen["torso"]
    low = 3.0 * np.maximum(0.0, 0.95 - seen["centre"][:, 2]) + np.maximum(0.0, 1.45 - seen["head"])
    feet = 0.5 * (1.0 - seen["flat"]) + np.clip(seen["foot"] - 0.09, 0.0, 1.0)
    speed = 0.02 * np.linalg.norm(v[:, :3], axis=1) + 0.003 * np.linalg.norm(v[:, 6:], axis=1)
    return low + 3.0 * np.minimum(aside, 0.6) + 0.6 * (1.0 - R[:, 2, 2]) + np.abs(R[:, 2, 1]) + feet + speed


def squatting(seen):
    """(n,) how far from squatting still on both feet."""
    aside = np.linalg.norm((seen["centre"] - seen["feet"])[:, :2], axis=1)
    v, R = seen["v"], seen["torso"]
    speed = 0.5 * np.minimum(np.linalg.norm(v[:, :3], axis=1), 2.0)
    speed += 0.1 * np.minimum(np.linalg.norm(v[:, 3:6], axis=1), 5.0)
    feet = 2.0 * (1.0 - seen["flat"]) + 2.0 * np.clip(seen["foot"] - 0.04, 0.0, 1.0)
    return (
        6.0 * np.minimum(aside, 0.5)
        + 4.0 * np.abs(seen["centre"][:, 2] - 0.54)
        + feet
        + speed
        + 2.0 * np.abs(R[:, 2, 1])
    )


def postures_ahead(rng, steps=6, count=64, ahead=5, rounds=4, best_of=8):
    """The first part: (steps, 9) [deg] postures, one after the other."""
    robots = Robots(count, COARSE)
    state, known = robots.lie("prone"), KNOWN
    here = np.array(LIES["prone"][2])
    kept, mean, best = [], np.tile(here, (ahead, 1)), np.tile(here, (ahead, 1))
    for step in range(steps):
        spread, least = np.tile(SPREAD, (ahead, 1)), np.inf
        for turn in range(rounds):
            tried = mean + spread * rng.standard_normal((count, ahead, 9))
            tried[:2] = mean, best
            if turn < 2:  # some are what people would try, half of these without changes
                n = count // (4 if turn == 0 else 8)
                own = known[rng.integers(0, len(known), (n, ahead))] + 12.0 * rng.standard_normal((n, ahead, 9))
                own[..., 6:] = rng.uniform(LEAST[6:], MOST[6:], (n, 1, 3))
                own[: n // 2] = own[: n // 2, :1]
                tried[-n:] = own
            tried = np.clip(tried, LEAST, MOST)
            cost = np.zeros(count)
            robots.begin(state, np.zeros(count, dtype=int))
            before = np.tile(here, (count, 1))
            for k in range(ahead):
                share = ((k + 1) / ahead) ** 2
                told = both_sides(robots.names, before), both_sides(robots.names, tried[:, k])
                robots.follow(*told, see=lambda seen, w=share, into=cost: np.add(into, w * rising(seen), out=into))
                before = tried[:, k]
            cost[robots.worlds.diverged] = np.inf
            order = np.argsort(cost)[:best_of]
            if cost[order[0]] < least:
                least, best = cost[order[0]], tried[order[0]].copy()
            mean = 0.3 * mean + 0.7 * tried[order].mean(axis=0)
            spread = 0.3 * spread + 0.7 * tried[order].std(axis=0) + 2.0
        robots.begin(state, np.zeros(count, dtype=int))
        robots.follow(both_sides(robots.names, np.tile(here, (count, 1))),
                      both_sides(robots.names, np.tile(best[0], (count, 1))))  # fmt: skip
        state, here = robots.worlds.get_state([0]), best[0]
        kept.append(here)
        mean = best = np.concatenate([best[1:], best[-1:]])
        seen = robots.seen()
        print(
            f"{step}: centre {seen['centre'][0].round(2)} m, head {seen['head'][0]:.2f} m, cost {least:.2f}", flush=True
        )
        if seen["centre"][0, 2] > 0.7:
            return np.array(kept[:-1])  # it does better to squat first
    return np.array(kept)


def rolls_over(rng, count=64, rounds=14, best_of=6):
    """The third part: (3, 21) [rad] targets of all joints, after which the robot lies on its front."""
    robots = Robots(count, FINE)
    state = robots.lie("supine")
    low, high = np.array([each.control_range for each in robots.robot.record.actuators]).T
    start = both_sides(robots.names, LIES["supine"][2])
    front = np.tile(both_sides(robots.names, LIES["prone"][2]), (count, 1))
    mean, spread, least = np.tile(start, (3, 1)), np.tile(0.4 * (high - low), (3, 1)), np.inf
    best = mean
    for turn in range(rounds):
        tried = mean + spread * rng.standard_normal((count, 3, len(start)))
        tried[0] = best
        tried = np.clip(tried, low, high)
        robots.begin(state, np.zeros(count, dtype=int), 0.02, rng)
        before = np.tile(start, (count, 1))
        for k in range(3):
            robots.follow(before, tried[:, k], ROLL)
            before = tried[:, k]
        over = robots.seen()["torso"][:, 2, 0]
        robots.follow(before, front, ROLL)
        robots.follow(front, front, LIES_STILL)
        seen = robots.seen()
        q = robots.worlds.joint_positions(robots.robot)[:, 7:]
        cost = (
            2.0
            + over
            + seen["torso"][:, 2, 0]
            + 0.1 * np.linalg.norm(q - front, axis=1)
            + 0.05 * np.linalg.norm(seen["v"], axis=1)
        )
        cost += np.abs(seen["torso"][:, 2, 1])
        order = np.argsort(cost)[:best_of]
        if cost[order[0]] < least:
            least, best = cost[order[0]], tried[order[0]].copy()
        mean = 0.2 * mean + 0.8 * tried[order].mean(axis=0)
        spread = 0.3 * spread + 0.7 * tried[order].std(axis=0) + 0.02
        print(
            f"rolls, {turn}: cost {least:.2f}, {(seen['torso'][:, 2, 0] < -0.9).sum()} of {count} are on their fronts",
            flush=True,
        )
        if (seen["torso"][:, 2, 0] < -0.9).sum() > count // 2:
            break
    return best


def squats(robots, states, postures, rng, noise):
    """(n,) sums over a second of how far from squatting robots are after postures (n, k, 9) [deg]."""
    which = np.arange(robots.count) % len(states)
    robots.begin(states, which, noise, rng)
    before, cost = np.tile(np.array(LIES["prone"][2]), (robots.count, 1)), np.zeros(robots.count)
    for k in range(postures.shape[1]):
        robots.follow(both_sides(robots.names, before), both_sides(robots.names, postures[:, k]))
        before = postures[:, k]
    crouch = both_sides(robots.names, np.tile(CROUCH, (robots.count, 1)))
    robots.follow(both_sides(robots.names, before), crouch)
    robots.follow(crouch, crouch, SQUATS, lambda seen: np.add(cost, squatting(seen), out=cost))
    cost[robots.worlds.diverged] = np.inf
    return cost


def bettered(rng, postures, states, count=32, turns=30, noise=0.02):
    """The second part: postures (k, 9) with which robots squat from all of the states, which are given by step size."""
    robots = {dt: Robots(count, dt) for dt in states}
    best, width = postures, 1.0
    for turn in range(turns):
        tried = best + width * 0.3 * SPREAD * rng.standard_normal((count, *best.shape))
        tried[: count // 8] = best
        tried = np.clip(tried, LEAST, MOST)
        cost = sum(squats(robots[dt], states[dt], tried, rng, noise) for dt in states)
        first, least = cost[: count // 8].mean(), int(np.argmin(cost))
        better = cost[least] < first
        best = tried[least] if better else best
        print(f"bettered, {turn}: cost {first:.2f} -> {cost[least]:.2f}, width {width:.2f}", flush=True)
        width *= 1.0 if cost[least] < 0.8 * first else 0.8
        if first < 3.0 and cost[: count // 8].max() < 3.5:
            break
    return best


def stands(count=4, noise=0.05):
    """How many of the robots that lie on their fronts stand in the end, with the postures that are kept."""
    robots = Robots(count, FINE)
    state = robots.lie("prone")
    postures = np.tile(np.array(GETS_UP), (count, 1, 1))
    squats(robots, state, postures, np.random.default_rng(0), noise)
    names = robots.names
    for k in range(100):
        robots.worlds.step(np.array([targets(names, smooth_step(k / 80.0))[name] for name in names]), robots.steps)
    return int((robots.seen()["centre"][:, 2] > 0.8).sum())


def main():
    """The postures that are kept, tried; or the search for them."""
    arguments = argparse.ArgumentParser(description="How a humanoid gets up from lying")
    arguments.add_argument("--search", action="store_true", help="find the postures anew")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    if not given.search:
        print(f"{stands()} of 4 robots that lay on their fronts stand")
        return
    first = postures_ahead(np.random.default_rng(given.seed))
    better = bettered(np.random.default_rng(given.seed), first, {FINE: Robots(1, FINE).lie("prone")})
    print(np.round(better).tolist(), "of", BOTH_SIDES, "[deg]", flush=True)
    print(np.round(np.degrees(rolls_over(np.random.default_rng(given.seed)))).tolist(), "of", JOINTS, "[deg]")


if __name__ == "__main__":
    main()
