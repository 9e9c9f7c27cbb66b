// Curves over time with a cursor; a click or drag moves the film to that time.

const INK = { grid: "#e3e5e8", text: "#4a5058", axis: "#9aa0a8", failed: "rgba(226, 86, 60, 0.16)", cursor: "#11161d" };
const LABEL = 14; // pixels from one label of an axis to the next, at least
const PLOTS = [
  {
    title: "Certificate", unit: "", log: true,
    curves: [["residual", "contact law", "#c2410c"], ["momentum", "momentum", "#1d4ed8"]],
  },
  { title: "Deepest overlap", unit: "mm", curves: [["overlap", "overlap", "#7c3aed"]] },
  { title: "Effort", unit: "", curves: [["iterations", "iterations", "#0f766e"], ["contacts", "contacts", "#b45309"]], apart: true },
  {
    title: "Energy", unit: "J",
    curves: [
      ["kinetic", "kinetic", "#1d4ed8"], ["potential", "potential*", "#15803d"], ["elastic", "elastic", "#9333ea"],
      ["work", "work done", "#db2777"], ["friction", "lost: friction", "#ea580c"], ["impact", "lost: impact", "#111827"],
      ["damping", "lost: damping", "#0891b2"], ["numerical", "gained by numerics", "#80868f"],
    ],
  },
];

function shortNumber(x) {
  if (x === 0 || !Number.isFinite(x)) return String(x);
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(1).replace("e+", "e").replace("e-0", "e-");
  return String(Number(x.toPrecision(3)));
}

class Plot {
  constructor(parent, plot, course, span, failed, tolerance, seek) {
    Object.assign(this, { plot, course, span, failed, tolerance });
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    const name = document.createElement("b");
    name.textContent = plot.title + (plot.unit ? ` (${plot.unit})` : "");
    caption.append(name);
    this.shown = plot.curves.filter(([key]) => this.always(key) || course.values(key).some((y) => y !== 0));
    this.keys = this.shown.map(([key, label, colour]) => {
      const item = document.createElement("span"), value = document.createElement("output");
      item.className = "key";
      item.style.setProperty("--ink", colour);
      item.append(label + " ", value);
      caption.append(item);
      return [key, value];
    });
    if (plot.log && tolerance) {
      const item = document.createElement("span");
      item.className = "key limit";
      item.append(`solver's tolerance ${shortNumber(tolerance).replace("1.0e", "1e")}`);
      caption.append(item);
    }
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${plot.title} over time`);
    figure.append(caption, this.canvas);
    parent.append(figure);
    this.still = document.createElement("canvas");
    let pressed = false;
    const move = (event) => {
      const x = (event.offsetX - this.left) / (this.canvas.clientWidth - this.left - this.right);
      seek(span[0] + Math.max(0, Math.min(1, x)) * (span[1] - span[0]));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      pressed = true;
      this.canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    this.canvas.addEventListener("pointermove", (event) => pressed && move(event));
    for (const done of ["pointerup", "pointercancel"]) this.canvas.addEventListener(done, () => (pressed = false));
    this.labels = []; // heights of the labels of each axis
    this.left = 46;
    this.right = 34; // the same for all plots, so that times are below each other
  }

  always(key) {
    return ["residual", "momentum", "overlap", "iterations", "contacts", "kinetic"].includes(key);
  }

  limits(keys) {
    let low = Infinity, high = -Infinity;
    for (const key of keys) {
      for (const y of this.course.values(key)) {
        if (!Number.isFinite(y) || (this.plot.log && y <= 0)) continue;
        low = Math.min(low, y);
        high = Math.max(high, y);
      }
    }
    if (this.plot.log) {
      if (!(low <= high)) [low, high] = [1e-16, 1];
      low = Math.max(low, 1e-18);
      return [Math.floor(Math.log10(low) - 0.05), Math.max(Math.ceil(Math.log10(high) + 0.05), Math.floor(Math.log10(low)) + 1)];
    }
    [low, high] = low <= high ? [Math.min(0, low), Math.max(0, high)] : [0, 1];
    if (high - low < 1e-300) high = low + 1;
    const edge = 0.06 * (high - low);
    return [low < 0 ? low - edge : low, high + edge];
  }

  // Axes and curves, once for each size of the canvas.
  layout() {
    const { canvas, still, plot, span } = this, ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    for (const sheet of [canvas, still]) Object.assign(sheet, { width: Math.max(1, width * ratio), height: Math.max(1, height * ratio) });
    if (!width || !height) return;
    const pen = still.getContext("2d"), bottom = 18, top = 5, { left, right } = this;
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    const x = (t) => left + ((t - span[0]) / (span[1] - span[0] || 1)) * (width - left - right);
    const sides = plot.apart ? this.shown.map((curve) => [curve]) : [this.shown];
    const scales = sides.map((curves) => this.limits(curves.map(([key]) => key)));
    const y = (value, [low, high]) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
    pen.fillStyle = INK.failed;
    for (const [from, to] of this.failed) {
      const start = Math.max(x(from), left), wide = Math.max(1, Math.min(x(to), width - right) - start);
      pen.fillRect(start, top, wide, height - top - bottom);
    }
    this.timeAxis(pen, x, width, height, bottom, top);
    sides.forEach((curves, s) => this.valueAxis(pen, scales[s], (v) => y(v, scales[s]), height - top - bottom, width, s, plot.apart ? curves[0][2] : INK.text));
    if (plot.log && this.tolerance) {
      const at = y(Math.log10(this.tolerance), scales[0]);
      if (at > top && at < height - bottom) this.dashed(pen, at, left, width - right);
    }
    pen.save();
    pen.beginPath();
    pen.rect(left, top - 2, width - left - right, height - top - bottom + 4);
    pen.clip();
    pen.lineWidth = 1.4;
    pen.lineJoin = "round";
    sides.forEach((curves, s) => {
      for (const [key, , colour] of curves) {
        const values = this.course.values(key);
        pen.strokeStyle = pen.fillStyle = colour;
        pen.beginPath();
        values.forEach((value, i) => {
          const v = plot.log ? Math.log10(Math.max(value, 10 ** scales[s][0])) : value;
          pen.lineTo(x(this.course.time[i]), y(v, scales[s]));
          if (values.length === 1) pen.arc(x(this.course.time[i]), y(v, scales[s]), 2.5, 0, 7);
        });
        pen.stroke();
      }
    });
    pen.restore();
    this.x = x;
  }

  dashed(pen, at, from, to) {
    pen.strokeStyle = INK.axis;
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.moveTo(from, at);
    pen.lineTo(to, at);
    pen.stroke();
    pen.setLineDash([]);
  }

  timeAxis(pen, x, width, height, bottom, top) {
    const { left, right, span } = this, step = roundNumber(Math.max(1e-9, ((span[1] - span[0]) * 70) / (width - left - right)) * 1.5);
    pen.strokeStyle = INK.grid;
    pen.fillStyle = INK.text;
    pen.textBaseline = "top";
    pen.textAlign = "center";
    pen.lineWidth = 1;
    for (let i = Math.ceil(span[0] / step - 1e-9); i * step <= span[1] + 1e-9; i++) {
      const at = x(i * step), text = Number((i * step).toPrecision(6));
      pen.beginPath();
      pen.moveTo(at, top);
      pen.lineTo(at, height - bottom);
      pen.stroke();
      if (at < width - right - 14) pen.fillText(String(text), at, height - bottom + 4);
    }
    pen.textAlign = "right";
    pen.fillText("s", width - right, height - bottom + 4);
  }

  // Steps between the labels of an axis so many pixels high, such that no two overlap.
  labelStep(low, high, tall) {
    const { log } = this.plot, next = (step) => (log ? step + 1 : roundNumber(2.51 * step));
    let step = log ? Math.max(1, Math.ceil((high - low) / 4)) : roundNumber((high - low) / 2.4);
    while ((step / (high - low)) * tall < LABEL && step < high - low) step = next(step);
    return step;
  }

  valueAxis(pen, [low, high], y, tall, width, side, colour) {
    const { left, right, plot } = this, step = this.labelStep(low, high, tall);
    pen.textBaseline = "middle";
    pen.textAlign = side ? "left" : "right";
    pen.strokeStyle = INK.grid;
    pen.fillStyle = colour;
    this.labels[side] = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9; i++) {
      const at = y(i * step), text = plot.log ? `1e${i * step}` : shortNumber(Number((i * step).toPrecision(6)));
      pen.fillText(text, side ? width - right + 5 : left - 5, at);
      this.labels[side].push(at);
      if (side) continue;
      pen.beginPath();
      pen.moveTo(left, at);
      pen.lineTo(width - right, at);
      pen.stroke();
    }
  }

  // The cursor at a time, and the values there.
  show(time) {
    const { canvas, still } = this, ratio = window.devicePixelRatio || 1;
    if (!this.x || !canvas.width) return;
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(still, 0, 0);
    pen.strokeStyle = INK.cursor;
    pen.lineWidth = 1.25 * ratio;
    pen.beginPath();
    pen.moveTo(this.x(time) * ratio, 3 * ratio);
    pen.lineTo(this.x(time) * ratio, canvas.height - 16 * ratio);
    pen.stroke();
    const i = this.course.at(time);
    for (const [key, output] of this.keys) output.textContent = shortNumber(this.course.values(key)[i]);
  }
}

// The columns of the recorded course.
class Course {
  constructor(recording) {
    this.time = Array.from(recording.course_time.data);
    const { columns, data } = recording.course;
    this.table = {};
    recording.facts.curves.forEach((name, c) => {
      this.table[name] = this.time.map((_, i) => data[i * columns + c]);
    });
  }

  values(name) {
    return this.table[name];
  }

  // Number of the entry nearest to a time.
  at(time) {
    let low = 0, high = this.time.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.time[middle] <= time) low = middle;
      else high = middle;
    }
    return time - this.time[low] <= this.time[high] - time ? low : high;
  }
}
