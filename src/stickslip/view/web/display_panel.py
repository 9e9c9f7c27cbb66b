"""The part of the viewer's panel that says what is drawn and what it means: switches, colours, legend, help."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stickslip.arrays import Array
from stickslip.certify.contact_report import OPEN, SLIP, STICK
from stickslip.model.model import Model
from stickslip.view.marks import BROKEN_COLOUR, JOINT_COLOUR, STATUS_COLOURS
from stickslip.view.quantity_words import prefixed
from stickslip.view.soft_colours import QUANTITIES, SCALE, WORDS, least_range, value_colours, value_limits
from stickslip.view.web.following_scale import FollowingScale
from stickslip.view.web.mark_nodes import LONGEST
from stickslip.view.web.viewer_scene import ViewerScene

if TYPE_CHECKING:
    import viser

PLAIN, NOBODY = "own colours", "nobody"
MOST_NAMES = 500
"""Bodies among which the one to follow can be chosen: the first ones."""
ORDER = 1000.0
"""Where these folders stand in the panel: after those that say nothing about it."""
LEGEND = 1.5
"""Where the legend of a live page stands: high up, before long folders."""
SWITCHES = (
    ("contacts", "Contact points", "C"),
    ("forces", "Contact forces", "V"),
    ("cones", "Friction cones", "K"),
    ("joints", "Joints", "J"),
    ("labels", "Names", "L"),
    ("see_through", "See through bodies", "X"),
    ("collision", "Collision shapes", "P"),
    ("shadows", "Shadows", "U"),
)
"""Attribute of ViewerScene, its label and its key."""
MOUSE_HELP = (
    ("drag", "turn the view"),
    ("right drag", "move the view"),
    ("wheel", "zoom"),
    ("W A S D Q E", "move the view"),
    ("arrows", "turn the view"),
)
SHORTCUTS = (
    *((key, f"{label.lower()}: on, off") for _, label, key in SWITCHES),
    ("F", "follow the next body that moves"),
    ("G", "see everything again"),
)


class DisplayPanel:
    """Switches that change a ViewerScene at once, and the quantity that soft bodies are to show."""

    def __init__(
        self,
        server: viser.ViserServer,
        scene: ViewerScene,
        model: Model,
        quantities: Sequence[str],
        shortcuts: Sequence[tuple[str, str]],
        live: bool,
    ) -> None:
        self._scene, self._model = scene, model
        self._scales: dict[str, tuple[FollowingScale, FollowingScale]] = {}
        self._lock = threading.Lock()
        self._legend_text = ""
        self._changed: list[Callable[[], None]] = []
        gui = server.gui
        with gui.add_folder("Show", order=ORDER):
            self._switches = {name: self._switch(server, name, label, key) for name, label, key in SWITCHES}
            soft = model.soft.count > 0
            self._quantity = gui.add_dropdown(
                "Soft bodies", (PLAIN, *(quantities if soft else ())), initial_value=PLAIN, visible=soft,
                hint="What the colours of soft bodies show.",
            )  # fmt: skip
            self._quantity.on_update(lambda _: self._notify())
            self._names = self._followable()
            self._followed = gui.add_dropdown(
                "Follow", (NOBODY, *self._names), initial_value=NOBODY, hint="The view moves with this body."
            )
            self._followed.on_update(lambda _: self._follow())
            gui.add_button("See everything", icon="focus-centered", hint="Key G").on_click(
                lambda _: self.see_everything()
            )
            if live:
                gui.add_button(
                    "Scale anew", icon="ruler-measure", hint="Key M. Arrows and colours for what is seen now."
                ).on_click(lambda _: self.restart_scales())
        with gui.add_folder("Legend", order=LEGEND if live else ORDER - 1.0):
            self._legend = gui.add_html("")
        with gui.add_folder("Help", order=ORDER + 1.0, expand_by_default=False):
            gui.add_html(help_text((*shortcuts, *SHORTCUTS)))
        add_key(server, "F", "Follow the next body", self.follow_next)
        add_key(server, "G", "See everything", self.see_everything)
        if live:
            add_key(server, "M", "Scale anew", self.restart_scales)
        self.refresh()

    @property
    def quantity(self) -> str | None:
        """Key of soft_colours.QUANTITIES that soft bodies show; None: their own colours."""
        chosen = str(self._quantity.value)
        return None if chosen == PLAIN else chosen

    @quantity.setter
    def quantity(self, chosen: str | None) -> None:
        self._quantity.value = PLAIN if chosen is None else chosen

    @property
    def limits(self) -> tuple[float, float]:
        """What the first and the last colour stand for, in the unit of the quantity: they follow what is shown."""
        if self.quantity is None:
            return 0.0, 0.0
        low, high = self._scale(self.quantity)
        return 0.0 - low.value, high.value  # not minus zero

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back when other colours are wanted: the frame has to be shown again."""
        self._changed.append(callback)

    def hold_limits(self, quantity: str, limits: tuple[float, float]) -> None:
        """Let colours of a quantity stand for these limits at least, in all frames."""
        for scale, limit in zip(self._scale(quantity), (-limits[0], limits[1]), strict=True):
            scale.limit(limit)

    def colours(self, quantity: str, values: Array) -> Array:
        """sRGB (nn, 3) of numbers (nn,) of a quantity, whose limits follow them."""
        low, high = self._scale(quantity)
        least, most = value_limits(values)
        low.follow(-least)
        high.follow(most)
        return value_colours(values, (-low.value, high.value))

    def restart_scales(self) -> None:
        """Choose the scales of forces and colours anew by the coming frames, where nothing holds them."""
        for scale in (scale for both in self._scales.values() for scale in both):
            scale.restart()
        self._scene.restart_scale()
        self._notify()

    def _scale(self, quantity: str) -> tuple[FollowingScale, FollowingScale]:
        """Scales of what is below zero, without its sign, and above."""
        if quantity not in self._scales:
            self._scales[quantity] = FollowingScale(), FollowingScale()
            self._scales[quantity][1].limit(least_range(self._model.soft, quantity))
        return self._scales[quantity]

    def refresh(self) -> None:
        """Write the legend anew where it has changed; call it a few times a second."""
        text = self._legend_html()
        with self._lock:
            if text != self._legend_text:
                self._legend_text = text
                self._legend.content = text

    def follow_next(self) -> None:
        """Follow the dynamic or soft body after the one that is followed."""
        moving = [name for name, body in self._names.items() if self._moves(body)]
        if moving:
            at = moving.index(self._followed.value) + 1 if self._followed.value in moving else 0
            self._followed.value = moving[at] if at < len(moving) else NOBODY

    def see_everything(self) -> None:
        """Follow nobody and frame the scene as it is now."""
        self._followed.value = NOBODY
        self._scene.reset_view()

    def _switch(self, server: viser.ViserServer, name: str, label: str, key: str) -> Any:
        needed = {"joints": len(self._model.joint_names) > 0, "collision": len(self._model.visuals.body) > 0}
        visible = needed.get(name, True)
        box = server.gui.add_checkbox(label, getattr(self._scene, name), visible=visible, hint=f"Key {key}")

        def changed(_: Any) -> None:
            setattr(self._scene, name, bool(box.value))
            self.refresh()

        def toggle() -> None:
            box.value = not box.value

        box.on_update(changed)
        add_key(server, key, f"{label}: on, off", toggle)
        return box

    def _followable(self) -> dict[str, int]:
        """Bodies that can be followed: those that move first."""
        count = self._model.body_count
        bodies = sorted(range(count + self._model.soft.count), key=lambda body: not self._moves(body))
        return {self._scene.name(body): body for body in bodies[:MOST_NAMES]}

    def _moves(self, body: int) -> bool:
        return body >= self._model.body_count or bool(self._model.body_dynamic[body])

    def _follow(self) -> None:
        self._scene.follow = self._names.get(str(self._followed.value))

    def _notify(self) -> None:
        for callback in self._changed:
            callback()
        self.refresh()

    def _legend_html(self) -> str:
        scene = self._scene
        rows = []
        if scene.contacts or scene.forces or scene.cones:
            codes = ((STICK, "sticks"), (SLIP, "slips"), (OPEN, "open"))
            rows.append("contact " + " ".join(f"{swatch(STATUS_COLOURS[code])} {word}" for code, word in codes))
        length, force = scene.force_scale
        if scene.forces and force > 0.0:
            most = with_unit(LONGEST * force, "N")
            rows.append(f"arrow of {with_unit(length, 'm')} = {with_unit(force, 'N')}, longest {most} or more")
            rows.append("force on the body that can move; between two, on the second of the pair")
        if scene.joints and self._model.joint_names:
            rows.append(f"joint {swatch(JOINT_COLOUR)} whole {swatch(BROKEN_COLOUR)} broken")
        quantity = self.quantity
        if quantity is not None:
            low, high = self.limits
            unit = QUANTITIES[quantity]
            stops = ", ".join(css(colour) for colour in SCALE)
            bar = f"height:12px;border-radius:3px;background:linear-gradient(to right, {stops})"
            ends = f"<span>{with_unit(low, unit)}</span><span>{with_unit(high, unit)}</span>"
            rows.append(
                f"{WORDS[quantity]}<div style='{bar}'></div>"
                f"<div style='display:flex;justify-content:space-between'>{ends}</div>"
            )
        if scene.grid is not None:
            rows.append(f"grid {with_unit(scene.grid, 'm')}, heavy lines {with_unit(10.0 * scene.grid, 'm')}")
        return framed("".join(f"<div style='margin-bottom:4px'>{row}</div>" for row in rows))


def display_panel(
    server: viser.ViserServer,
    scene: ViewerScene,
    model: Model,
    quantities: Sequence[str],
    shortcuts: Sequence[tuple[str, str]] = (),
    live: bool = True,
) -> DisplayPanel:
    """Folders "Show", "Legend" and "Help" of the page; shortcuts: keys of the page itself and what they do.

    live: scales follow what is shown, and can be chosen anew.
    """
    return DisplayPanel(server, scene, model, quantities, shortcuts, live)


def add_key(server: viser.ViserServer, key: str, label: str, action: Callable[[], None]) -> None:
    """A keyboard shortcut; letters, digits, "space", "home", "end", "pageup", "pagedown" are free for it."""
    server.gui.add_command(label, hotkey=key).on_trigger(lambda _: action())


def help_text(shortcuts: Sequence[tuple[str, str]]) -> str:
    """A table of keys and what they do."""
    rows = "".join(
        f"<tr><td style='padding-right:8px;white-space:nowrap'><b>{html.escape(key)}</b></td>"
        f"<td>{html.escape(text)}</td></tr>"
        for key, text in (*shortcuts, *MOUSE_HELP)
    )
    return framed(f"<table>{rows}</table>")


def framed(content: str) -> str:
    """Text of the panel in its usual size and margins."""
    return f"<div style='font-size:13px;line-height:1.45;padding:2px 10px 6px'>{content}</div>"


def swatch(colour: Sequence[float]) -> str:
    """A patch of an sRGB colour, inside text."""
    size = "display:inline-block;width:10px;height:10px;border-radius:50%;margin:0 1px 0 6px"
    return f"<span style='{size};background:{css(colour)}'></span>"


def css(colour: Sequence[float] | Array) -> str:
    """An sRGB colour 0..1 as style sheets write it."""
    return "#" + "".join(f"{round(255.0 * float(part)):02x}" for part in colour)


def with_unit(value: float, unit: str) -> str:
    """A number of three digits with a unit and a prefix; a share (unit 1) as per cent."""
    if unit == "1":
        return f"{100.0 * value:.3g} %"
    factor, prefix = prefixed(abs(value))
    return f"{value / factor:.3g} {prefix}{unit}"
