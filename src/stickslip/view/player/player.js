// The page: reads the recording, draws when something changed, ties controls, plots and picture to one time.

const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4];
const SHORT = 2; // [s] a film that is over sooner starts slower
const MANY = 400; // contacts of a frame above which they are hidden until asked for
const SLOW = 70; // [ms] a drawn frame above which the picture is made simpler while it moves
const REST = 250; // [ms] without change after which the picture is drawn in full

class Player {
  constructor(recording) {
    const { facts } = recording;
    this.recording = recording;
    this.facts = facts;
    this.times = recording.time.data;
    this.span = [this.times[0], this.times[facts.frames - 1]];
    this.time = this.span[0];
    this.frame = 0;
    this.playing = false;
    this.drawn = 0;
    this.clicked = -1;
    this.following = -1;
    this.slow = 0;
    this.level = this.still = 0; // of LEVELS, while something moves and at rest
    this.course = new Course(recording);
    writeHead(facts);
    this.makePlots();
    this.makeControls();
    this.camera = new Camera();
    try {
      this.scene = new Scene($("view"), recording);
      this.marks = new Marks(this.scene, recording);
      this.makeView();
    } catch (error) {
      this.scene = null;
      complain(error.message);
    }
    this.showContacts = !!this.marks?.hasContacts && (facts.contacts_kept ?? facts.contacts_most) <= MANY;
    this.showJoints = !!this.marks?.hasJoints;
    $("contacts").disabled = !this.marks?.hasContacts;
    $("joints").hidden = !this.marks?.hasJoints;
    new ResizeObserver(() => this.resize()).observe($("frame"));
    new ResizeObserver(() => this.resize()).observe($("plots"));
    this.resize();
    this.buttons();
  }

  // ---- plots ----

  makePlots() {
    const { facts } = this, seek = (time) => this.seek(time);
    const span = [Math.min(this.span[0], this.course.time[0]), Math.max(this.span[1], this.course.time.at(-1))];
    this.plots = PLOTS.map((plot) => new Plot($("plots"), plot, this.course, span, facts.failed, facts.tolerance, seek));
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = "* difference to the start. Work, losses and numerics: sums since the start."
      + (facts.failed.length ? " Shaded: steps that did not converge." : "");
    $("plots").append(note);
  }

  // ---- controls ----

  makeControls() {
    const { facts } = this, length = this.span[1] - this.span[0];
    for (const speed of SPEEDS) $("speed").append(new Option(`${speed} ×`, String(speed)));
    const start = SPEEDS.filter((speed) => speed <= 1 && length / speed >= SHORT).pop() ?? SPEEDS[0];
    $("speed").value = String(length > 0 ? start : 1);
    $("follow").append(new Option("follow nothing", "-1"));
    facts.names.forEach((name, i) => $("follow").append(new Option(name, String(i))));
    Object.assign($("scrub"), { min: this.span[0], max: this.span[1], value: this.time });
    for (const id of ["back", "play", "on", "scrub", "speed", "loop"]) $(id).disabled = facts.frames < 2;
    $("scrub").addEventListener("input", () => this.seek(Number($("scrub").value)));
    $("play").onclick = () => this.play(!this.playing);
    $("back").onclick = () => this.step(-1);
    $("on").onclick = () => this.step(1);
    $("loop").onclick = () => this.toggle("loop");
    $("contacts").onclick = () => this.toggle("contacts");
    $("joints").onclick = () => this.toggle("joints");
    $("home").onclick = () => this.home();
    $("help").onclick = () => this.help();
    $("close").onclick = () => $("about-page").close();
    $("follow").onchange = () => this.follow(Number($("follow").value));
    for (const id of ["follow", "speed"]) $(id).addEventListener("change", () => $(id).blur());
    this.loop = true;
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("visibilitychange", () => document.hidden && this.play(false));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const shift = event.shiftKey ? 10 : 1;
    const actions = {
      " ": () => this.play(!this.playing), ArrowLeft: () => this.step(-shift), ArrowRight: () => this.step(shift),
      Home: () => this.seek(this.span[0]), End: () => this.seek(this.span[1]), "+": () => this.faster(1), "=": () => this.faster(1),
      "-": () => this.faster(-1), l: () => this.toggle("loop"), c: () => this.toggle("contacts"), j: () => this.toggle("joints"),
      f: () => this.follow(this.following >= 0 ? -1 : this.clicked), h: () => this.home(), "?": () => this.help(),
      "[": () => this.arrows(1 / 1.5), "]": () => this.arrows(1.5),
    };
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (!action || ($("about-page").open && event.key !== "?")) return;
    if (event.key === " " && event.target.tagName === "BUTTON") event.target.blur();
    event.preventDefault();
    action();
  }

  help() {
    const dialog = $("about-page");
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  toggle(what) {
    if (what === "loop") this.loop = !this.loop;
    if (what === "contacts" && this.marks?.hasContacts) this.showContacts = !this.showContacts;
    if (what === "joints" && this.marks?.hasJoints) this.showJoints = !this.showJoints;
    this.buttons();
    this.changed();
  }

  arrows(factor) {
    if (this.marks?.metres) this.marks.metres *= factor;
    this.changed();
  }

  buttons() {
    const pressed = { loop: this.loop, contacts: this.showContacts, joints: this.showJoints };
    for (const [id, value] of Object.entries(pressed)) $(id).setAttribute("aria-pressed", String(!!value));
    $("play").innerText = this.playing ? "\u275A\u275A" : "\u25B6\uFE0E";
    $("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  faster(by) {
    const at = SPEEDS.indexOf(Number($("speed").value)) + by;
    $("speed").value = String(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at))]);
  }

  // ---- time ----

  play(on) {
    if (this.facts.frames < 2) return;
    if (on && !this.playing && this.time >= this.span[1]) this.time = this.span[0];
    this.playing = on;
    this.last = undefined;
    this.buttons();
    this.changed();
  }

  seek(time) {
    this.time = Math.max(this.span[0], Math.min(this.span[1], time));
    this.changed();
  }

  step(by) {
    this.play(false);
    const near = this.time - this.times[this.frame] > 1e-6 && by < 0 ? this.frame + 1 : this.frame;
    this.seek(this.times[Math.max(0, Math.min(this.facts.frames - 1, near + by))]);
    this.locate();
  }

  // The frame before the present time, and the share of the way to the next.
  locate() {
    const { times, time } = this;
    let low = 0, high = this.facts.frames - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle;
    }
    if (times[high] <= time) low = high;
    this.frame = low;
    const gap = low + 1 < this.facts.frames ? times[low + 1] - times[low] : 0;
    return gap > 0 ? Math.max(0, Math.min(1, (time - times[low]) / gap)) : 0;
  }

  // ---- picture ----

  makeView() {
    const canvas = $("view"), view = this;
    steer(canvas, this.camera, () => this.changed(), tapped, () => this.following >= 0 && this.follow(-1));
    function tapped(x, y, double) {
      const ratio = canvas.width / canvas.clientWidth;
      const body = bodyAt(view.scene, Math.round(x * ratio), Math.round(canvas.height - y * ratio));
      view.clicked = body;
      view.scene.picked = body;
      if (double) view.follow(body === view.following ? -1 : body);
      view.changed();
    }
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.scene = null;
      complain("The graphics card gave up; reload the page.");
    });
    if (this.scene.software) [this.level, this.still] = [2, 1];
    this.choose(this.level);
    this.scene.place(0, 0);
    this.fit();
  }

  // Frame all places of the whole film.
  fit() {
    const all = this.facts.framed;
    const low = [0, 1, 2].map((k) => all.reduce((least, b) => Math.min(least, b[k] - b[3]), Infinity));
    const high = [0, 1, 2].map((k) => all.reduce((most, b) => Math.max(most, b[k] + b[3]), -Infinity));
    this.camera.frame(all, $("view").clientWidth / Math.max(1, $("view").clientHeight));
    const ball = all.length ? [...scaled(add(low, high), 0.5), 0.5 * Math.hypot(...subtract(high, low))] : [0, 0, 0, 1];
    if (!this.scene.sun) this.scene.setSun(this.camera, ball);
  }

  home() {
    if (!this.scene) return;
    this.follow(-1);
    Object.assign(this.camera, { azimuth: (-60 * Math.PI) / 180, elevation: (18 * Math.PI) / 180 });
    this.fit();
    this.changed();
  }

  follow(body) {
    if (!this.scene) return;
    this.following = body;
    $("follow").value = String(body);
    if (body >= 0) this.clicked = body;
    this.scene.picked = this.clicked;
    this.changed();
  }

  // [ms] to put everything in its place, on average, and to draw it at a level of LEVELS: the shortest of so many frames.
  timed(count, level = this.level) {
    const { gl } = this.scene, wait = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    const shortest = (work) => {
      let best = Infinity;
      for (let i = 0; i < count; i++) {
        wait();
        const start = performance.now();
        work(Math.floor((i * this.facts.frames) / count));
        best = Math.min(best, performance.now() - start);
      }
      return best;
    };
    this.level = level;
    wait();
    const start = performance.now();
    for (let i = 0; i < 10 * count; i++) this.scene.place(i % this.facts.frames, 0.5);
    return [(performance.now() - start) / (10 * count), shortest((k) => {
      this.time = this.times[k];
      this.draw();
      wait();
    })];
  }

  // Where the middle of a body is on the page, in its pixels.
  placeOnPage(body) {
    const { all } = this.scene.view, p = [...this.scene.middle(body), 1], box = $("view").getBoundingClientRect();
    const [x, y, , w] = [0, 1, 2, 3].map((r) => p.reduce((sum, value, c) => sum + all[4 * c + r] * value, 0));
    return [box.left + (0.5 + (0.5 * x) / w) * box.width, box.top + (0.5 - (0.5 * y) / w) * box.height];
  }

  resize() {
    this.sizeCanvas();
    if (this.scene && !this.camera.touched && this.following < 0) this.fit();
    for (const plot of this.plots) plot.layout();
    this.drawFailures();
    this.changed();
  }

  sizeCanvas() {
    const canvas = $("view"), most = LEVELS[this.scene?.level ?? 0][2], ratio = Math.min(most, window.devicePixelRatio || 1);
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
  }

  drawFailures() {
    const canvas = $("failures"), [from, to] = this.span;
    canvas.width = Math.max(1, canvas.clientWidth);
    canvas.height = Math.max(1, canvas.clientHeight);
    const pen = canvas.getContext("2d"), x = (t) => ((Math.max(from, t) - from) / (to - from || 1)) * canvas.width;
    pen.fillStyle = "#d9532c";
    for (const [a, b] of this.facts.failed) pen.fillRect(x(a), 0, Math.max(1, x(b) - x(a)), canvas.height);
  }

  changed() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.waiting = false;
    if (this.playing) {
      const passed = this.last === undefined ? 0 : Math.min(1, (now - this.last) / 1000);
      this.last = now;
      this.time += passed * Number($("speed").value);
      if (this.time >= this.span[1]) {
        if (this.loop) this.time = this.span[0] + ((this.time - this.span[1]) % (this.span[1] - this.span[0]));
        else {
          this.time = this.span[1];
          this.playing = false;
          this.buttons();
        }
      }
      this.simplify(passed);
    }
    this.draw();
    if (this.playing) this.changed();
    clearTimeout(this.resting);
    if (this.level !== this.still && !this.playing) this.resting = setTimeout(() => this.draw(false), REST);
  }

  // On a slow machine the picture is simpler while it moves.
  simplify(passed) {
    this.slow = 1e3 * passed > SLOW ? this.slow + 1 : Math.max(0, this.slow - 1);
    if (this.slow < 5) return;
    this.slow = 0;
    this.level = Math.min(this.level + 1, LEVELS.length - 1);
  }

  choose(level) {
    if (this.scene.level === level) return;
    this.scene.level = level;
    this.sizeCanvas();
  }

  draw(moving = true) {
    const share = this.locate();
    if (this.scene) {
      this.choose(moving ? this.level : this.still);
      this.scene.place(this.frame, share);
      if (this.following >= 0) this.camera.target = this.scene.middle(this.following);
      this.scene.draw(this.camera);
      const nearest = share > 0.5 ? Math.min(this.frame + 1, this.facts.frames - 1) : this.frame;
      this.marks.draw(nearest, this.showContacts, this.showJoints);
      writeLegend(this, nearest);
    }
    for (const plot of this.plots) plot.show(this.time);
    $("scrub").value = String(this.time);
    $("clock").textContent = `${this.time.toFixed(3)} s / ${this.span[1].toFixed(2)} s`;
    $("warning").hidden = !this.facts.failed.some(([a, b]) => this.time > a - 1e-9 && this.time <= b + 1e-6);
    this.drawn++;
  }
}

function complain(text) {
  $("message").textContent = text;
  $("message").className = "bad";
}

async function open() {
  const handle = { ready: false, error: null, time: 0, frame: 0 };
  window.stickslip = handle;
  try {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("This browser cannot unpack the recording (DecompressionStream is missing). Use Chrome or Edge 92, Safari 16.4, Firefox 113, or later.");
    }
    $("message").textContent = "unpacking the recording …";
    const recording = await readRecording($("recording").textContent);
    $("message").textContent = "";
    const player = new Player(recording);
    if (recording.facts.autoplay && !matchMedia("(prefers-reduced-motion: reduce)").matches) player.play(true);
    Object.defineProperties(handle, {
      time: { get: () => player.time },
      frame: { get: () => player.frame },
      frames: { get: () => player.facts.frames },
      playing: { get: () => player.playing },
      drawn: { get: () => player.drawn },
      following: { get: () => player.following },
      facts: { get: () => player.facts },
    });
    Object.assign(handle, {
      seek: (time) => player.seek(time),
      play: (on = true) => player.play(on),
      pose: (body) => Array.from(player.scene.pose.subarray(7 * body, 7 * body + 7)),
      place: (body) => player.placeOnPage(body),
      labels: () => player.plots.flatMap((plot) => plot.labels),
      arrows: () => player.marks.arrowLengths(player.frame),
      timed: (count) => player.timed(count),
      ready: true,
    });
  } catch (error) {
    handle.error = error.message;
    complain(error.message);
  }
}
open();
