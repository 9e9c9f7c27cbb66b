"""Old names of modules: they still work, with a DeprecationWarning that says the new one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

PACKAGE = "stickslip."
MOVED = {
    "body_description": "scene.body",
    "body_mass": "scene.body_mass",
    "certificate": "certify.certificate",
    "collision.box_box": "collision.rigid.box_box",
    "collision.closest_points": "collision.rigid.closest_points",
    "collision.continuous": "collision.surfaces.continuous",
    "collision.convex": "collision.rigid.convex",
    "collision.edge_cores": "collision.surfaces.edge_cores",
    "collision.edge_crossings": "collision.surfaces.edge_crossings",
    "collision.epa": "collision.rigid.epa",
    "collision.face_clipping": "collision.rigid.face_clipping",
    "collision.face_cores": "collision.surfaces.face_cores",
    "collision.feature_pairs": "collision.surfaces.feature_pairs",
    "collision.gjk": "collision.rigid.gjk",
    "collision.half_space": "collision.rigid.half_space",
    "collision.impacts": "collision.surfaces.impacts",
    "collision.manifold": "collision.rigid.manifold",
    "collision.mesh_cones": "collision.mesh.cones",
    "collision.mesh_manifold": "collision.mesh.manifold",
    "collision.mesh_mesh": "collision.mesh.mesh_mesh",
    "collision.mesh_round": "collision.mesh.mesh_round",
    "collision.moving_surfaces": "collision.surfaces.moving_surfaces",
    "collision.near_pairs": "collision.rigid_contacts",
    "collision.point_shapes": "collision.surfaces.point_shapes",
    "collision.primitives": "collision.rigid.primitives",
    "collision.rigid_features": "collision.surfaces.rigid_features",
    "collision.rigid_items": "collision.surfaces.rigid_items",
    "collision.rigid_surfaces": "collision.surfaces.rigid_surfaces",
    "collision.separating_axes": "collision.rigid.separating_axes",
    "collision.soft_contacts": "collision.surfaces.contacts",
    "collision.soft_keys": "collision.surfaces.keys",
    "collision.soft_rigid": "collision.surfaces.soft_rigid",
    "collision.soft_surfaces": "collision.surfaces.soft_surfaces",
    "collision.support": "collision.rigid.support",
    "collision.surface_search": "collision.surfaces.search",
    "collision.surface_tree": "collision.surfaces.tree",
    "contact_report": "certify.contact_report",
    "crossing": "pieces.crossing",
    "divergence": "certify.divergence",
    "dynamics.cavities": "bodies.soft.cavities",
    "dynamics.column_sums": "bodies.soft.column_sums",
    "dynamics.contact_motion": "constraints.contact.motion",
    "dynamics.contact_rows": "constraints.contact.rows",
    "dynamics.contact_springs": "constraints.contact.springs",
    "dynamics.elastic_models": "bodies.soft.elastic_models",
    "dynamics.element_assembly": "bodies.soft.element_assembly",
    "dynamics.element_energies": "bodies.soft.element_energies",
    "dynamics.element_rows": "constraints.element_rows",
    "dynamics.energy": "bodies.rigid.energy",
    "dynamics.joint_projection": "constraints.joint.projection",
    "dynamics.joint_rows": "constraints.joint.rows",
    "dynamics.joint_stiffness": "constraints.joint.stiffness",
    "dynamics.joint_sums": "constraints.joint.sums",
    "dynamics.joints": "constraints.joint.joints",
    "dynamics.mean_velocity": "constraints.contact.mean_velocity",
    "dynamics.plane_strain": "bodies.soft.plane_strain",
    "dynamics.prescribed": "bodies.rigid.advance",
    "dynamics.rigid_bodies": "bodies.rigid.momentum",
    "dynamics.soft_bodies": "bodies.soft.momentum",
    "dynamics.xpbd_bodies": "xpbd.bodies",
    "dynamics.xpbd_contacts": "xpbd.contacts",
    "dynamics.xpbd_elements": "xpbd.elements",
    "dynamics.xpbd_joints": "xpbd.joints",
    "dynamics.xpbd_rods": "xpbd.rods",
    "dynamics.xpbd_soft_contacts": "xpbd.soft_contacts",
    "dynamics.xpbd_steps": "xpbd.steps",
    "energy_ledger": "certify.energy_ledger",
    "experiments.erleben2017_claims": "experiments.erleben2017.claims",
    "experiments.erleben2017_figures": "experiments.erleben2017.figures",
    "experiments.erleben2017_statistics": "experiments.erleben2017.statistics",
    "experiments.han2023_beam": "experiments.han2023.beam",
    "experiments.han2023_figures": "experiments.han2023.figures",
    "experiments.han2023_press": "experiments.han2023.press",
    "experiments.han2023_runs": "experiments.han2023.runs",
    "experiments.han2023_scaling": "experiments.han2023.scaling",
    "experiments.han2023_shares": "experiments.han2023.shares",
    "experiments.han2023_table": "experiments.han2023.table",
    "experiments.lee2023_cable": "experiments.lee2023.cable",
    "experiments.lee2023_figures": "experiments.lee2023.figures",
    "experiments.lee2023_growth": "experiments.lee2023.growth",
    "experiments.lee2023_inverse": "experiments.lee2023.inverse",
    "experiments.lee2023_slide_figures": "experiments.lee2023.slide_figures",
    "experiments.lee2023_slides": "experiments.lee2023.slides",
    "experiments.lee2023_tables": "experiments.lee2023.tables",
    "experiments.lee2023_trials": "experiments.lee2023.trials",
    "experiments.lee2023_variants": "experiments.lee2023.variants",
    "experiments.macklin2019_course_claims": "experiments.macklin2019.course_claims",
    "experiments.macklin2019_courses": "experiments.macklin2019.courses",
    "experiments.macklin2019_extension": "experiments.macklin2019.extension",
    "experiments.macklin2019_figures": "experiments.macklin2019.figures",
    "experiments.macklin2019_functions": "experiments.macklin2019.functions",
    "experiments.macklin2019_limits": "experiments.macklin2019.limits",
    "experiments.macklin2019_quartiles": "experiments.macklin2019.quartiles",
    "experiments.macklin2019_sheet": "experiments.macklin2019.sheet",
    "experiments.macklin2019_soft_figures": "experiments.macklin2019.soft_figures",
    "experiments.macklin2019_steps": "experiments.macklin2019.steps",
    "experiments.macklin2019_systems": "experiments.macklin2019.systems",
    "experiments.macklin2019_table": "experiments.macklin2019.table",
    "experiments.peer_drake": "experiments.truth.peer_drake",
    "experiments.peer_mujoco": "experiments.truth.peer_mujoco",
    "experiments.peer_pybullet": "experiments.truth.peer_pybullet",
    "experiments.todorov2010_drop": "experiments.todorov2010.drop",
    "experiments.todorov2010_figures": "experiments.todorov2010.figures",
    "experiments.todorov2010_solvers": "experiments.todorov2010.solvers",
    "experiments.todorov2010_table": "experiments.todorov2010.table",
    "experiments.trajectory": "experiments.truth.trajectory",
    "experiments.truth_scenes": "experiments.truth.scenes",
    "experiments.truth_stickslip": "experiments.truth.own",
    "experiments.truth_tests": "experiments.truth.tests",
    "joint_description": "scene.joint",
    "joint_tables": "model.joint_tables",
    "joints": "scene.joints",
    "materials": "scene.materials",
    "rod_description": "scene.rod",
    "rods": "scene.rods",
    "schemes": "model.schemes",
    "settling": "constraints.settling",
    "soft": "scene.soft_bodies",
    "soft_crossing": "pieces.soft_crossing",
    "soft_description": "scene.soft_body",
    "soft_reading": "reading_state",
    "soft_tables": "model.soft_tables",
    "solvers.cond_given": "solvers.cond.given",
    "solvers.cond_iterations": "solvers.cond.iterations",
    "solvers.cond_levels": "solvers.cond.levels",
    "solvers.cond_nodes": "solvers.cond.nodes",
    "solvers.cond_steps": "solvers.cond.steps",
    "solvers.first_sweeps": "solvers.prox.first_sweeps",
    "solvers.geometric_stiffness": "solvers.newton.geometric_stiffness",
    "solvers.implicit_linesearch": "solvers.implicit.linesearch",
    "solvers.implicit_maps": "solvers.implicit.maps",
    "solvers.ncp": "solvers.newton.ncp",
    "solvers.newton_rows": "solvers.newton.rows",
    "solvers.prox_factors": "solvers.prox.factors",
    "solvers.prox_gs": "solvers.prox.gauss_seidel",
    "solvers.prox_iterations": "solvers.prox.iterations",
    "solvers.prox_jacobi": "solvers.prox.jacobi",
    "solvers.prox_sweeps": "solvers.prox.sweeps",
    "solvers.sap_hessian": "solvers.sap.hessian",
    "solvers.sap_laws": "solvers.sap.laws",
    "solvers.slabs": "solvers.prox.slabs",
    "solvers.subspace": "solvers.prox.subspace",
    "stabilisation": "constraints.stabilisation",
    "state": "model.state",
    "step_result": "certify.step_result",
    "step_status": "certify.status",
    "stepping": "model.stepping",
    "substeps": "xpbd.substeps",
    "view.body_nodes": "view.web.body_nodes",
    "view.camera": "view.picture.camera",
    "view.contact_marks": "view.picture.contact_marks",
    "view.display_panel": "view.web.display_panel",
    "view.drag_spring": "view.live.drag_spring",
    "view.following_scale": "view.web.following_scale",
    "view.ground_nodes": "view.web.ground_nodes",
    "view.guarded_server": "view.web.guarded_server",
    "view.html_player": "view.player.html_player",
    "view.live_controls": "view.live.controls",
    "view.live_page": "view.live.page",
    "view.live_plots": "view.live.plots",
    "view.live_run": "view.live.run",
    "view.live_simulation": "view.live.simulation",
    "view.mark_nodes": "view.web.mark_nodes",
    "view.moved_meshes": "view.web.moved_meshes",
    "view.outlines": "view.picture.outlines",
    "view.picture_key": "view.picture.key",
    "view.picture_strip": "view.picture.strip",
    "view.pixels": "view.picture.pixels",
    "view.playback_clock": "view.playback.clock",
    "view.playback_page": "view.playback.page",
    "view.playback_plots": "view.playback.plots",
    "view.player_course": "view.player.course",
    "view.player_data": "view.player.data",
    "view.player_frames": "view.player.frames",
    "view.ray_tracer": "view.picture.ray_tracer",
    "view.report_facts": "view.report.facts",
    "view.report_page": "view.report.page",
    "view.run_charts": "view.web.run_charts",
    "view.run_plots": "view.report.plots",
    "view.run_warnings": "view.report.warnings",
    "view.shape_meshes": "model.shape_meshes",
    "view.see_through": "view.picture.see_through",
    "view.shading": "view.picture.shading",
    "view.shots": "view.picture.shots",
    "view.soft_nodes": "view.web.soft_nodes",
    "view.soft_surfaces": "view.picture.soft_surfaces",
    "view.suspect_contacts": "view.report.suspect_contacts",
    "view.traced_scene": "view.picture.traced_scene",
    "view.video": "view.picture.video",
    "view.viewer_scene": "view.web.viewer_scene",
    "view.wall_panes": "view.picture.wall_panes",
    "view.web_charts": "view.web.web_charts",
}
"""New home of each module that has moved, both within the package."""
PARENTS = {old.rpartition(".")[0] for old in MOVED} - {""}


class _Forwarding(MetaPathFinder, Loader):
    """Finds what no other finder does: modules under their old names, and folders that held nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where the module of an old name is found; None for all others."""
        name = fullname.removeprefix(PACKAGE)
        if not fullname.startswith(PACKAGE) or name not in MOVED.keys() | PARENTS:
            return None
        return ModuleSpec(fullname, self, is_package=name not in MOVED)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module under its new name, with a warning; None, which is an empty one, for a folder."""
        new = MOVED.get(spec.name.removeprefix(PACKAGE))
        if new is None:
            return None
        _warn(spec.name, PACKAGE + new)
        module = import_module(PACKAGE + new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it was when it was imported by its new name."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state


def install() -> None:
    """Let old names be imported."""
    if not any(isinstance(finder, _Forwarding) for finder in sys.meta_path):
        sys.meta_path.append(_Forwarding())


def names_of(home: str) -> Callable[[str], Any]:
    """``__getattr__`` for a folder that has the name of a module which moved into it, to ``home``."""

    def look_up(name: str) -> Any:
        folder = home.rpartition(".")[0]
        if name.startswith("__") or find_spec(f"{folder}.{name}") is not None:  # a module of the folder is imported
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        _warn(f"{folder}.{name}", f"{home}.{name}")
        return value

    return look_up


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} has moved to {new}", DeprecationWarning, stacklevel=3)
