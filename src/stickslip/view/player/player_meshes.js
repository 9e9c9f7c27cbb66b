// Triangles ready for drawing: corners of round surfaces share normals, those of edges do not.

const CREASE = { spheres: -1, capsules: -1, cylinders: 0.7, boxes: 0.9, hull: 0.94, mesh: 0.8, soft: 0.8 };
// cosine of the angle between faces above which their common edge is round

// faces over points -> {source, faces}: corners are split where faces meet at an edge; source[c] is the point of c.
function splitCorners(points, faces, least) {
  const count = faces.length / 3, normals = faceNormals(points, faces, count), around = new Map();
  const source = [], out = new Uint32Array(faces.length), parts = [];
  for (let i = 0; i < faces.length; i++) {
    const p = faces[i];
    if (!around.has(p)) around.set(p, []);
    around.get(p).push(i);
  }
  for (const [p, corners] of around) {
    // groups of faces about a point, each face being like another one of its group
    parts.length = 0;
    for (const i of corners) {
      const n = normals[(i / 3) | 0];
      const like = parts.filter((part) => part.some((j) => dot(n, normals[(j / 3) | 0]) >= least));
      const merged = [i].concat(...like);
      for (const part of like) parts.splice(parts.indexOf(part), 1);
      parts.push(merged);
    }
    for (const part of parts) {
      for (const i of part) out[i] = source.length;
      source.push(p);
    }
  }
  return { source: Uint32Array.from(source), faces: out };
}

function faceNormals(points, faces, count) {
  const at = (i) => [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
  const out = [];
  for (let f = 0; f < count; f++) {
    const a = at(faces[3 * f]);
    out.push(normalized(cross(subtract(at(faces[3 * f + 1]), a), subtract(at(faces[3 * f + 2]), a))));
  }
  return out;
}

// Normals of corners at x, weighted by area, into out.
function cornerNormals(x, faces, out) {
  out.fill(0);
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
    const ux = x[b] - x[a], uy = x[b + 1] - x[a + 1], uz = x[b + 2] - x[a + 2];
    const vx = x[c] - x[a], vy = x[c + 1] - x[a + 1], vz = x[c + 2] - x[a + 2];
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    for (const i of [a, b, c]) {
      out[i] += nx;
      out[i + 1] += ny;
      out[i + 2] += nz;
    }
  }
  for (let i = 0; i < out.length; i += 3) {
    const s = 1 / (Math.hypot(out[i], out[i + 1], out[i + 2]) || 1);
    out[i] *= s;
    out[i + 1] *= s;
    out[i + 2] *= s;
  }
}

// One mesh of the recording: {position, normal, edge, faces}; edge: distances to the edges of a face, for hulls alone.
function shapeMesh(points, faces, style) {
  const split = splitCorners(points, faces, CREASE[style] ?? 0.9);
  let { source } = split, index = split.faces;
  let position = new Float32Array(3 * source.length), normal = new Float32Array(3 * source.length);
  source.forEach((p, c) => position.set(points.subarray(3 * p, 3 * p + 3), 3 * c));
  cornerNormals(position, index, normal);
  if (style !== "hull") return { position, normal, edge: null, faces: index };

  const normals = faceNormals(points, faces, faces.length / 3), beside = new Map();
  for (let i = 0; i < faces.length; i++) {
    const f = (i / 3) | 0, a = faces[i], b = faces[3 * f + ((i % 3) + 1) % 3], key = Math.min(a, b) + ":" + Math.max(a, b);
    beside.set(key, [...(beside.get(key) ?? []), f]);
  }
  const edge = new Float32Array(3 * faces.length), flat = new Float32Array(3 * faces.length), up = new Float32Array(3 * faces.length);
  for (let f = 0; f < faces.length / 3; f++) {
    const corner = [0, 1, 2].map((k) => Array.from(points.subarray(3 * faces[3 * f + k], 3 * faces[3 * f + k] + 3)));
    const area = Math.hypot(...cross(subtract(corner[1], corner[0]), subtract(corner[2], corner[0])));
    for (let k = 0; k < 3; k++) {
      const i = 3 * f + k, a = faces[i], b = faces[3 * f + ((k + 1) % 3)];
      const pair = beside.get(Math.min(a, b) + ":" + Math.max(a, b));
      const sharp = pair.length < 2 || dot(normals[pair[0]], normals[pair[1]]) < 0.94;
      const height = area / (Math.hypot(...subtract(corner[(k + 1) % 3], corner[k])) || 1);
      for (let c = 0; c < 3; c++) edge[3 * (3 * f + c) + k] = !sharp ? 1e6 : c === (k + 2) % 3 ? height : 0;
      flat.set(corner[k], 3 * i);
      up.set(normal.subarray(3 * index[i], 3 * index[i] + 3), 3 * i);
    }
  }
  return { position: flat, normal: up, edge, faces: Uint32Array.from(faces, (_, i) => i) };
}

// A ball of radius 1 of few triangles.
function coarseSphere(around = 12, rings = 7) {
  const points = [0, 0, 1], faces = [], last = 1 + around * (rings - 1), at = (r, i) => 1 + around * (r - 1) + (i % around);
  for (let r = 1; r < rings; r++) {
    const high = Math.cos((Math.PI * r) / rings), wide = Math.sin((Math.PI * r) / rings);
    for (let i = 0; i < around; i++) points.push(wide * Math.cos((2 * Math.PI * i) / around), wide * Math.sin((2 * Math.PI * i) / around), high);
  }
  points.push(0, 0, -1);
  for (let i = 0; i < around; i++) {
    faces.push(0, at(1, i), at(1, i + 1), last, at(rings - 1, i + 1), at(rings - 1, i));
    for (let r = 1; r < rings - 1; r++) faces.push(at(r, i), at(r + 1, i), at(r + 1, i + 1), at(r, i), at(r + 1, i + 1), at(r, i + 1));
  }
  const position = Float32Array.from(points);
  return { position, normal: position, edge: null, faces: Uint32Array.from(faces) };
}
