"""Every scene by name, with the settings it is meant to run at."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from stickslip.keywords import unknown
from stickslip.scene.scene import Scene
from stickslip.scenes import (
    allegro_ball,
    allegro_iiwa,
    arch,
    ball_drop,
    ball_grip,
    beam,
    blocks,
    cable,
    cable_winding,
    cantilever,
    chains,
    colosseum,
    cube_of_balls,
    cylinder_press,
    demo,
    dexnet,
    extension,
    fetch_beam,
    fetch_tomato,
    four_bar,
    funnel,
    gripper_lift,
    humanoid,
    impacts,
    jacks,
    panda_cable,
    panda_gripper,
    panda_mat,
    piles,
    pneunet,
    rolling,
    scale,
    slides,
    soft_arch,
    soft_ball,
    soft_bubble,
    soft_chain,
    soft_gripper,
    soft_mat,
    soft_stack,
    spinning,
    tables,
    temple,
    twist,
    vessels,
    walls,
    yumi_cabinet,
)
from stickslip.scenes.metrics import MetricsFactory
from stickslip.scenes.parameters import Value, fitted
from stickslip.solvers.quality import Quality
from stickslip.solvers.registry import DEFAULT


@dataclass(frozen=True)
class SceneEntry:
    """A scene that can be run by name."""

    name: str
    summary: str
    build: Callable[..., Scene]
    """Makes the scene from keyword parameters that all have defaults, in SI."""
    dt: float
    """[s] step size."""
    duration: float
    """[s] simulated time."""
    metrics: MetricsFactory
    method: str = DEFAULT
    """Name of the solver that it runs with where none is named."""
    solver: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    """Options of the solver that differ from its defaults, where it has them; of its method, where it names one."""
    stepping: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    """Options of Stepping that differ from its defaults."""
    quality: Quality | None = None
    """What a scene of a user asks for in the place of a solver and of stepping; its options are in ``solver``, too."""

    def defaults(self) -> dict[str, Value]:
        """Parameters of ``build`` and their defaults."""
        return {name: item.default for name, item in inspect.signature(self.build).parameters.items()}

    def parameters(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """All parameters, those given in the place of their defaults; unknown ones raise an InputError."""
        return fitted(f"scene {self.name}", self.defaults(), given)


PILE: Mapping[str, Value] = MappingProxyType({"tolerance": 1e-4, "max_iterations": 100})
"""Solver options of big piles: while they fall, more sweeps would not be seen."""
BUILDING: Mapping[str, Value] = MappingProxyType({"tolerance": 1e-6, "max_iterations": 500, "subspace_limit": 4000})
"""Solver options of big buildings: they stand as long as weight finds its way to the ground in every step, which sweeps
alone do not achieve (residual 1e-2 after 300 of them, 1e-4 with subspace steps)."""

FAST: Mapping[str, Value] = MappingProxyType({"redetect": 3})
"""Stepping of scenes in which bodies fall, turn and hit on each other: steps are looked at where they led."""
HEAP: Mapping[str, Value] = MappingProxyType({"redetect": 5, "searches": 0})
"""The same of heaps, where to seek contacts of all that may be hit on takes longer than to look again."""
TOUCHING: Mapping[str, Value] = MappingProxyType({"lookahead": False, "margin": 1e-9, "recovery": 0.0})
"""Stepping of [todorov2010], b = 0: only what touches is a contact, at the start of the step (its eq. 4), and neither
gaps nor overlaps enter the problem. The margin is the slop, up to which gaps count as zero."""

_ENTRIES = (
    SceneEntry(
        "demo", "wrecking ball, tower, dominoes, balls and capsules", demo.demo,
        dt=0.004, duration=2.4, metrics=demo.DemoMetrics, solver={"tolerance": 1e-5, "max_iterations": 500},
        stepping=FAST,
    ),
    SceneEntry(
        "box-slope", "a box rests on a slope at 80 % of the Coulomb limit: does it creep?", blocks.box_slope,
        dt=0.002, duration=12.0, metrics=blocks.Creep,
    ),
    SceneEntry(
        "box-slide", "a pushed box slides; its path has a closed form (lee2023 sec. V-B)", slides.box_slide,
        dt=0.01, duration=1.0, metrics=slides.SlideError, method="cond", solver={"tolerance": 1e-8},
    ),
    SceneEntry(
        "anisotropic-slide", "a box slides on a floor with elliptic friction cones (lee2023 sec. V-G)",
        slides.anisotropic_slide, dt=0.01, duration=1.5, metrics=slides.DissipationError,
        method="cond", solver={"tolerance": 1e-8},
    ),
    SceneEntry(
        "heavy-stack", "cubes of 8 to 32768 kg, heaviest on top (macklin2019 sec. 10.1.5)", blocks.heavy_stack,
        dt=0.0083, duration=5.0, metrics=blocks.StackHeight,
    ),
    SceneEntry(
        "mass-ratio", "a heavy cube on a light one, 1000:1", blocks.mass_ratio,
        dt=0.002, duration=5.0, metrics=blocks.StackHeight,
    ),
    SceneEntry(
        "wall", "a wall of 80 bricks (erleben2017 Table 1)", walls.wall,
        dt=0.01, duration=5.0, metrics=walls.wall_metrics, solver={"tolerance": 1e-6},
    ),
    SceneEntry(
        "tower", "a round tower of 48 bricks (erleben2017 Table 1)", walls.tower,
        dt=0.01, duration=5.0, metrics=walls.wall_metrics, solver={"tolerance": 1e-6},
    ),
    SceneEntry(
        "spheres", "1728 balls fall into a container (erleben2017 Table 1)", piles.spheres,
        dt=0.01, duration=5.0, metrics=piles.Pile, solver=PILE, stepping=HEAP,
    ),
    SceneEntry(
        "jacks", "360 toy jacks fall on a heap (erleben2017 Table 1)", jacks.jacks,
        dt=0.01, duration=5.0, metrics=piles.Pile, solver=PILE, stepping=HEAP,
    ),
    SceneEntry(
        "glasses", "360 drinking glasses fall on a heap (erleben2017 Table 1)", vessels.glasses,
        dt=0.01, duration=5.0, metrics=piles.Pile, solver=PILE, stepping=HEAP,
    ),
    SceneEntry(
        "chalices", "4000 chalices are packed into a container (erleben2017 Table 1)", vessels.chalices,
        dt=0.005, duration=2.0, metrics=piles.Pile, solver=PILE, stepping=HEAP,
    ),
    SceneEntry(
        "funnel", "2000 small jacks in a hopper: do they flow or jam? (erleben2017 Table 1)", funnel.funnel,
        dt=0.005, duration=2.0, metrics=funnel.Flow, solver=PILE, stepping=HEAP,
    ),
    SceneEntry(
        "temple", "a temple of 638 stones without mortar (erleben2017 Table 1)", temple.temple,
        dt=0.01, duration=1.5, metrics=temple.temple_metrics, solver=BUILDING,
    ),
    SceneEntry(
        "colosseum", "three storeys of arches, 648 stones without mortar (erleben2017 Table 1)", colosseum.colosseum,
        dt=0.01, duration=1.5, metrics=colosseum.colosseum_metrics, solver=BUILDING,
    ),
    SceneEntry(
        "arch", "20 voussoirs of 15 to 110 kg; stands at friction 0.6, falls at 0.2 (macklin2019)", arch.arch,
        dt=0.0083, duration=10.0, metrics=arch.arch_metrics, stepping=FAST,
    ),
    SceneEntry(
        "round-arch", "15 equal voussoirs in a semicircle; stands at friction 0.6, falls at 0.2", arch.round_arch,
        dt=0.005, duration=5.0, metrics=arch.round_arch_metrics, stepping=FAST,
    ),
    SceneEntry(
        "table-pile", "54 tables of 4.7 kg fall on a heap (macklin2019 Table 2)", tables.table_pile,
        dt=0.0083, duration=6.0, metrics=tables.TablePile, solver=PILE, stepping=FAST,
    ),
    SceneEntry(
        "beam-insertion", "a flexible beam of 16 bodies goes into a hole (macklin2019 Fig. 7)", beam.beam_insertion,
        dt=0.0083, duration=132 * 0.0083, metrics=beam.Insertion,
    ),
    SceneEntry(
        "chain", "50 links swing with a ball of 10000 times a link's mass", chains.chain,
        dt=0.0083, duration=10.0, metrics=chains.Chain,
    ),
    SceneEntry(
        "cable", "a flexible cable hangs, or is wound on a drum: mode=winding (lee2023 sec. V)", cable.cable,
        dt=0.005, duration=3.0, metrics=cable.Cable, solver={"tolerance": 1e-6},
    ),
    SceneEntry(
        "cable-winding", "a robot's hand winds a cable of 320 links onto a cylinder (lee2023 Fig. 9)",
        cable_winding.cable_winding, dt=0.01, duration=7.0, metrics=cable_winding.Winding,
        solver={"tolerance": 1e-6}, stepping={"joints": "potentials"},
    ),
    SceneEntry(
        "panda-cable", "a Panda winds a cable of 0.4 m onto a post (lee2023 Fig. 9, its release)",
        panda_cable.panda_cable, dt=0.01, duration=55.0, metrics=panda_cable.PandaWinding,
        solver={"tolerance": 1e-6}, stepping={"joints": "potentials"},
    ),
    SceneEntry(
        "four-bar", "a crank drives a follower; its angle has a closed form (Freudenstein)", four_bar.four_bar,
        dt=0.002, duration=3.0, metrics=four_bar.FourBar,
    ),
    SceneEntry(
        "gripper-lift", "a gripper in joint coordinates lifts a box at 80 % of what friction can carry",
        gripper_lift.gripper_lift, dt=0.004, duration=5.0, metrics=gripper_lift.Lifted,
    ),
    SceneEntry(
        "humanoid", "humanoids stand, fall (mode=fall), rise (mode=rise) (macklin2019 sec. 10.1.7)", humanoid.humanoid,
        dt=0.005, duration=3.0, metrics=humanoid.Balance,
    ),
    SceneEntry(
        "yumi-cabinet", "a robot's hand takes a handle and opens a drawer by friction (macklin2019 sec. 10.1.7)",
        yumi_cabinet.yumi_cabinet, dt=0.0083, duration=4.8, metrics=yumi_cabinet.Opened,
    ),
    SceneEntry(
        "rope-bridge", "planks hang from two ropes; boxes and a ball fall on them", chains.rope_bridge,
        dt=0.005, duration=4.0, metrics=chains.RopeBridge, solver={"tolerance": 1e-6},
    ),
    SceneEntry(
        "scale", "a needle reads the weight of a tomato (macklin2019 Fig. 1)", scale.scale,
        dt=0.0083, duration=3.0, metrics=scale.Reading,
    ),
    SceneEntry(
        "rolling", "a slab on 25 balls, pushed obliquely: rolling has a closed form (SimBenchmark)", rolling.rolling,
        dt=0.001, duration=1.0, metrics=rolling.VelocityError,
    ),
    SceneEntry(
        "ball-drop", "5 stacked balls hit the floor at once: shock propagation (todorov2010 Fig. 6)",
        ball_drop.ball_drop, dt=0.01, duration=1.0, metrics=ball_drop.Shock,
    ),
    SceneEntry(
        "balls-in-cube", "balls of different radii thrown about in a closed cube (todorov2010 Fig. 5, Table 1)",
        cube_of_balls.balls_in_cube, dt=0.005, duration=1.0, metrics=cube_of_balls.CubeOfBalls, stepping=TOUCHING,
    ),
    SceneEntry(
        "bouncing-ball", "a ball bounces to rest: heights, times and the end have closed forms",
        impacts.bouncing_ball, dt=0.0005, duration=4.3, metrics=impacts.Rebounds, stepping={"scheme": "moreau"},
    ),
    SceneEntry(
        "cradle", "Newton's cradle: as many balls leave as come in", impacts.cradle,
        dt=0.0002, duration=0.2, metrics=impacts.CradleSpeeds,
    ),
    SceneEntry(
        "spin-down", "a spinning puck stops by friction about the normal (Coulomb-Contensou)", spinning.spin_down,
        dt=0.001, duration=1.0, metrics=spinning.SpinDown,
    ),
    SceneEntry(
        "tippe-top", "a spun ball with a low centre of mass turns over", spinning.tippe_top,
        dt=0.001, duration=3.0, metrics=spinning.Inversion, stepping={"scheme": "moreau"},
    ),
    SceneEntry(
        "soft-ball", "a soft ball is dropped, squeezed, or held by shaken plates: does it creep?", soft_ball.soft_ball,
        dt=0.005, duration=6.0, metrics=soft_ball.BallMetrics,
    ),
    SceneEntry(
        "soft-stack", "soft and rigid boxes on top of each other", soft_stack.soft_stack,
        dt=0.005, duration=3.0, metrics=soft_stack.SoftStack,
    ),
    SceneEntry(
        "soft-chain", "10 soft rings hang from a fixed one (han2023 Fig. 8)", soft_chain.soft_chain,
        dt=0.02, duration=3.0, metrics=soft_chain.Hanging, method="sap", stepping=soft_chain.STEPPING,
    ),
    SceneEntry(
        "soft-torus", "a soft ring of 900 to 28800 unknowns hangs from a fixed one (han2023 Fig. 9)",
        soft_chain.soft_torus, dt=0.02, duration=2.0, metrics=soft_chain.Hanging, method="sap",
        stepping=soft_chain.STEPPING,
    ),
    SceneEntry(
        "soft-arch", "an arch of stiff soft blocks stands on two edges by friction (han2023 Fig. 5)",
        soft_arch.soft_arch, dt=0.04, duration=10.0, metrics=soft_arch.SoftArch, method="sap",
        # the friction of the papers, 1e-3, creeps by 0.6 mm/s here
        solver={"friction_share": 1e-7, "near_rigid": 0.01},
    ),
    SceneEntry(
        "soft-bubble", "two bubbles grip a teddy bear: close, lift, shake, place (han2023 Fig. 6)",
        soft_bubble.soft_bubble, dt=0.02, duration=8.4, metrics=soft_bubble.Grasp,
    ),
    SceneEntry(
        "soft-mat", "a gripper folds a soft mat on a table (lee2023 Fig. 7 and 11, Table II)", soft_mat.soft_mat,
        dt=0.01, duration=2.4, metrics=soft_mat.Folding, method="cond",
        solver={"criterion": "step", "tolerance": 1e-4},
    ),
    SceneEntry(
        "panda-mat", "a Panda folds a soft mat by the friction of its blades (lee2023 Fig. 7, Table II)",
        panda_mat.panda_mat, dt=0.01, duration=9.0, metrics=panda_mat.PandaFolding, method="cond",
        solver={"criterion": "step", "tolerance": 1e-4},
    ),
    SceneEntry(
        "soft-gripper", "two soft fingers close on an object on a force sensor (lee2023 Fig. 10, Table VI)",
        soft_gripper.soft_gripper, dt=0.01, duration=2.0, metrics=soft_gripper.GripForce, method="cond",
        solver={"criterion": "step", "tolerance": 1e-6},
    ),
    SceneEntry(
        "panda-gripper", "a Panda lifts an object with soft fingers; its wrist reads the weight (lee2023 sec. V-C-6)",
        panda_gripper.panda_gripper, dt=0.01, duration=5.4, metrics=panda_gripper.PandaLift,
    ),
    SceneEntry(
        "ball-grip", "two prismatic fingers grip a soft ball of 1,415 nodes, lift and hold it (lee2023 sec. V-C)",
        ball_grip.ball_grip, dt=0.01, duration=1.3, metrics=ball_grip.Held, method="cond",
    ),
    SceneEntry(
        "allegro-ball", "a hand of 16 joints squeezes a soft ball and rolls it (macklin2019 Fig. 3)",
        allegro_ball.allegro_ball, dt=0.01, duration=4.0, metrics=allegro_ball.Rolled,
    ),
    SceneEntry(
        "fetch-beam", "a robot pushes a flexible beam of 16 bodies into a hole (macklin2019 sec. 10.1.2, Fig. 7)",
        fetch_beam.fetch_beam, dt=0.0083, duration=3.2, metrics=fetch_beam.Pushed,
    ),
    SceneEntry(
        "fetch-tomato", "a robot puts a soft tomato on a scale, which reads its weight (macklin2019 sec. 10.1.1)",
        fetch_tomato.fetch_tomato, dt=0.0083, duration=12.5, metrics=fetch_tomato.Weighed,
        stepping={"joints": "potentials"},
    ),
    SceneEntry(
        "dexnet", "a hand closes on an object of a set, turns over and shakes it (macklin2019 sec. 10.1.3)",
        dexnet.dexnet, dt=0.005, duration=5.2, metrics=dexnet.Grasped,
    ),
    SceneEntry(
        "allegro-iiwa", "a hand on an arm, 23 joints, grasps, lifts and shakes a soft ball (han2023 Fig. 1)",
        allegro_iiwa.allegro_iiwa, dt=0.01, duration=7.3, metrics=allegro_iiwa.Grasped,
    ),
    SceneEntry(
        "twist", "a bar is twisted until it touches itself", twist.twist,
        dt=0.005, duration=2.5, metrics=twist.Twisted,
    ),
    SceneEntry(
        "pneunet", "three soft fingers curl around a ball of 0.32 kg and lift it (macklin2019 Fig. 2)", pneunet.pneunet,
        dt=0.005, duration=2.8, metrics=pneunet.Grip,
    ),
    SceneEntry(
        "cantilever", "a clamped soft beam bends under its weight, as beam theory says (han2023 Fig. 7)",
        cantilever.cantilever, dt=0.05, duration=6.0, metrics=cantilever.Deflection,
    ),
    SceneEntry(
        "cylinder-press", "a rubber cylinder is pressed flat between smooth plates (han2023 Fig. 3 and 4)",
        cylinder_press.cylinder_press, dt=1.0, duration=500.0, metrics=cylinder_press.Press,
        method="sap", solver={"tolerance": 1e-6, "near_rigid": cylinder_press.NEAR_RIGID},
        stepping=cylinder_press.STEPPING,
    ),
    SceneEntry(
        "extension", "a soft bar pulled to twice its length: is its volume kept? (macklin2019 Fig. 13)",
        extension.extension, dt=0.0083, duration=2.0, metrics=extension.VolumeLoss,
    ),
)  # fmt: skip

SCENES: Mapping[str, SceneEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Scenes by their name on the command line."""


def find_scene(name: str) -> SceneEntry:
    """The scene of that name, or an InputError that lists them all."""
    if not isinstance(name, str) or name not in SCENES:
        raise unknown("scene", name, SCENES)
    return SCENES[name]
