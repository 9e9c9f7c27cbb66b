// A camera that turns about a point; it is framed as view/picture/camera.py does, so that pictures and pages look alike.

const HALF_FIELD = Math.tan((16 * Math.PI) / 180), BORDER = 1.15;

class Camera {
  constructor() {
    this.azimuth = (-60 * Math.PI) / 180;
    this.elevation = (18 * Math.PI) / 180;
    this.target = [0, 0, 0];
    this.distance = 5;
    this.touched = false;
  }

  half(aspect) {
    return aspect >= 1 ? [HALF_FIELD, HALF_FIELD / aspect] : [HALF_FIELD * aspect, HALF_FIELD];
  }

  axes() {
    const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth);
    return { right: [-sa, ca, 0], up: [-se * ca, -se * sa, ce], forward: [-ce * ca, -ce * sa, -se] };
  }

  eye() {
    return subtract(this.target, scaled(this.axes().forward, this.distance));
  }

  // Matrices for a scene of the given size [m].
  matrices(aspect, size) {
    const { right, up, forward } = this.axes(), eye = this.eye(), half = this.half(aspect);
    const far = Math.max(40 * this.distance, this.distance + 4 * size);
    const near = Math.max(0.02 * this.distance, far * 2e-5);
    return { eye, right, up, forward, half, all: product(perspective(half, near, far), viewMatrix(eye, right, up, forward)) };
  }

  // balls: rows of centre and radius; the tightest view that holds all, seen from the present direction.
  frame(balls, aspect) {
    if (!balls.length) balls = [[0, 0, 0, 1]];
    const { right, up, forward } = this.axes(), half = this.half(aspect), axes = [right, up];
    const offset = [0, 0];
    const deep = balls.map((ball) => dot(forward, ball)), middle = 0.5 * (Math.min(...deep) + Math.max(...deep));
    let distance = 0;
    for (let k = 0; k < 2; k++) {
      let high = -Infinity, low = Infinity;
      balls.forEach((ball, i) => {
        const along = dot(axes[k], ball), slope = ball[3] * Math.hypot(1, half[k]);
        high = Math.max(high, along + slope - deep[i] * half[k]);
        low = Math.min(low, along - slope + deep[i] * half[k]);
      });
      offset[k] = 0.5 * (high + low);
      distance = Math.max(distance, (0.5 * (high - low)) / half[k]);
    }
    this.distance = Math.max(BORDER * (distance + middle), 1e-6);
    this.target = add(add(scaled(right, offset[0]), scaled(up, offset[1])), scaled(forward, middle));
    this.touched = false;
  }

  orbit(dx, dy) {
    this.azimuth -= 0.008 * dx;
    this.elevation = Math.min(1.553, Math.max(-1.2, this.elevation + 0.008 * dy));
    this.touched = true;
  }

  pan(dx, dy, height, aspect) {
    const metres = (2 * this.half(aspect)[1] * this.distance) / height, { right, up } = this.axes();
    this.target = add(this.target, add(scaled(right, -dx * metres), scaled(up, dy * metres)));
    this.touched = true;
  }

  zoom(factor) {
    this.distance = Math.min(1e6, Math.max(1e-5, this.distance * factor));
    this.touched = true;
  }
}

// Mouse and touch on a canvas: left or one finger turns, right, middle, shift or two fingers move, wheel or pinch zooms.
function steer(canvas, camera, changed, tapped, panned) {
  const fingers = new Map();
  let moved = 0, lastTap = { time: -1e9, x: 0, y: 0 };
  const place = () => {
    const all = [...fingers.values()], n = all.length;
    const x = all.reduce((s, p) => s + p.x, 0) / n, y = all.reduce((s, p) => s + p.y, 0) / n;
    return { x, y, spread: n > 1 ? Math.hypot(all[0].x - all[1].x, all[0].y - all[1].y) : 0, n };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (!fingers.size) moved = 0;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = place();
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const now = place(), dx = now.x - before.x, dy = now.y - before.y;
    moved += Math.abs(dx) + Math.abs(dy) + Math.abs(now.spread - before.spread);
    if (moved < 4) return;
    const aspect = canvas.clientWidth / canvas.clientHeight;
    if (now.n > 1 || event.shiftKey || event.buttons & 6) {
      camera.pan(dx, dy, canvas.clientHeight, aspect);
      panned();
      if (now.spread && before.spread) camera.zoom(before.spread / now.spread);
    } else camera.orbit(dx, dy);
    changed();
  });
  const lift = (event) => {
    if (!fingers.delete(event.pointerId) || event.type !== "pointerup" || moved >= 4 || fingers.size) return;
    const double = event.timeStamp - lastTap.time < 400 && Math.hypot(event.clientX - lastTap.x, event.clientY - lastTap.y) < 25;
    lastTap = { time: double ? -1e9 : event.timeStamp, x: event.clientX, y: event.clientY };
    tapped(event.offsetX, event.offsetY, double);
  };
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, lift);
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    camera.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * (event.ctrlKey ? 0.008 : 0.003)));
    changed();
  }, { passive: false });
}
