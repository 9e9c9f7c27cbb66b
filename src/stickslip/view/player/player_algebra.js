// Vectors of three, quaternions (w, x, y, z) and matrices of four by four, column after column.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const normalized = (a) => scaled(a, 1 / (Math.hypot(a[0], a[1], a[2]) || 1));

// v turned by the quaternion at q[i..i+3].
function turned(q, i, v) {
  const r = [q[i + 1], q[i + 2], q[i + 3]], t = scaled(cross(r, v), 2);
  return add(add(v, scaled(t, q[i])), cross(r, t));
}

function product(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    }
  }
  return out;
}

// From the world to an eye whose right, up and forward directions are given.
function viewMatrix(eye, right, up, forward) {
  return new Float32Array([
    right[0], up[0], -forward[0], 0, right[1], up[1], -forward[1], 0, right[2], up[2], -forward[2], 0,
    -dot(right, eye), -dot(up, eye), dot(forward, eye), 1,
  ]);
}

// half: half width and half height of the picture at unit distance.
function perspective(half, near, far) {
  return new Float32Array([
    1 / half[0], 0, 0, 0, 0, 1 / half[1], 0, 0, 0, 0, -(far + near) / (far - near), -1,
    0, 0, -2 * far * near / (far - near), 0,
  ]);
}

function orthographic(radius, depth) {
  return new Float32Array([1 / radius, 0, 0, 0, 0, 1 / radius, 0, 0, 0, 0, -1 / depth, 0, 0, 0, 0, 1]);
}

const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

// The largest of 1, 2, 5 times a power of ten that is not above x.
function roundNumber(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return (x >= 5 * power ? 5 : x >= 2 * power ? 2 : 1) * power;
}
