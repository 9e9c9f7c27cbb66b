// Texts of the page; names of a recording reach it as text alone.

const $ = (id) => document.getElementById(id);
const KEYS = [
  ["space", "play or pause"], ["← →", "one frame back, on; with shift ten"], ["home, end", "first, last frame"],
  ["+ −", "faster, slower"], ["L", "loop"], ["C", "contacts and forces"], ["[ ]", "shorter, longer arrows"], ["J", "joints"],
  ["F", "follow the body clicked last, or let go"], ["H", "frame all bodies"], ["?", "this page"],
  ["mouse", "drag turns; shift-drag or right button moves; wheel zooms; double-click follows a body"],
  ["touch", "one finger turns; two move and zoom; double tap follows a body"],
];

function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}

// Head, worst numbers, keys and facts.
function writeHead(facts) {
  const bad = facts.failed.length > 0;
  $("title").textContent = document.title = facts.title;
  const scene = facts.scene && facts.scene !== facts.title ? `scene ${facts.scene}, ` : "";
  $("about").textContent = `${scene}solver ${facts.solver}, step ${shortNumber(1e3 * facts.dt)} ms, ${counted(facts.names.length, "body", "bodies")}, stickslip ${facts.version}`;
  const badge = (text, kind) => {
    const made = document.createElement("span");
    made.className = `badge ${kind}`;
    made.textContent = text;
    $("badges").append(made);
  };
  if (!facts.complete) badge("run was cut off", "bad");
  badge(bad ? "not every step converged" : "all steps converged", bad ? "bad" : "");
  facts.words.forEach((text, i) => {
    const item = document.createElement("li");
    item.textContent = text;
    if (i === 0 && bad) item.className = "bad";
    $("words").append(item);
  });
  const list = (id, rows) => {
    for (const [name, text] of rows) {
      const term = document.createElement("dt"), value = document.createElement("dd");
      term.textContent = name;
      value.textContent = text;
      $(id).append(term, value);
    }
  };
  list("keys", KEYS);
  const kept = facts.contacts_kept ? `; of frames with more contacts the ${facts.contacts_kept} largest forces are shown` : "";
  list("facts", [
    ["scene", `${facts.scene || "unnamed"} ${Object.entries(facts.parameters).map(([k, v]) => `${k}=${v}`).join(", ")}`],
    ["solver", `${facts.solver}, scheme ${facts.scheme}, step ${facts.dt} s`],
    ["frames", `${facts.frames} played of ${facts.recorded} recorded${facts.every > 1 ? `, every ${facts.every}th step` : ""}`],
    ["precision", `positions within ${shortNumber(1e3 * facts.error)} mm, rotations within ${shortNumber((180 / Math.PI) * 3 * facts.turn_step)}°, rounded for this page alone; forces within 0.1 % of the largest${kept}`],
    ["arrows", "mean force of a step on the body that can move, of two such on the second, at the nearest frame; none is longer than four of the usual force"],
    ["plots", `${facts.sparse ? "flows of energy are those of recorded steps, each counted for all steps it stands for; " : ""}potential* is the difference to the start; friction, impact, damping, work and numerical are sums since the start`],
    ["made by", `stickslip ${facts.version}; nothing on this page comes from anywhere else`],
  ]);
}

// Colours of contacts, the length of arrows, colours of soft bodies, and who is followed.
function writeLegend(player, frame) {
  const { facts, marks } = player, legend = $("legend"), rows = [];
  const element = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const swatch = (colour, text) => {
    const item = element("span"), disc = element("i");
    disc.style.background = `rgb(${colour.map((c) => Math.round(255 * c)).join(",")})`;
    item.append(disc, text);
    return item;
  };
  if (player.showContacts) {
    const row = element("div");
    STATUS.forEach((colour, i) => row.append(swatch(colour, STATUS_NAMES[i])));
    if (marks.metres) {
      const { clientWidth, clientHeight } = $("view");
      const key = marks.arrowKey(player.camera, clientHeight, clientWidth / clientHeight), item = element("span"), arrow = element("span", "", "arrow");
      arrow.style.width = `${key.pixels.toFixed(0)}px`;
      item.append(arrow, `${key.force >= 1e4 ? `${shortNumber(key.force / 1e3)} kN` : `${shortNumber(key.force)} N`}`);
      row.append(item);
    }
    const count = player.marks.contactCount(frame);
    row.append(element("span", `${counted(count, "contact", "contacts")}${facts.contacts_kept === count ? " (largest)" : ""}`));
    rows.push(row);
  }
  if (player.showJoints) {
    const row = element("div");
    row.append(swatch(JOINT, "joint"), swatch(BROKEN, "broken joint"));
    rows.push(row);
  }
  if (facts.colour_by) {
    const row = element("div"), bar = element("span", "", "bar");
    bar.style.background = `linear-gradient(90deg, ${facts.scale.map((c) => `rgb(${c.map((x) => Math.round(255 * x)).join(",")})`).join(", ")})`;
    const unit = facts.unit === "1" ? "" : ` ${facts.unit}`;
    row.append(element("span", facts.colour_by), element("span", shortNumber(facts.limits[0])), bar, element("span", shortNumber(facts.limits[1]) + unit));
    rows.push(row);
  }
  legend.hidden = !rows.length;
  legend.replaceChildren(...rows);
  const label = $("followed"), body = player.following >= 0 ? player.following : player.clicked;
  label.hidden = body < 0;
  label.textContent = body < 0 ? "" : `${player.following >= 0 ? "following " : ""}${facts.names[body]}`;
}
