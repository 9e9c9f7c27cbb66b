// The picture: bodies, soft bodies, ground and sky, with a shadow map from the sun and one from above for the sky's light.

const STYLES = { spheres: 1, boxes: 2, cylinders: 3, hull: 4, mesh: 5, capsules: 0, visual: 6 };
// taps of shadows, whether the light of the sky is shaded, and pixels of the picture for one of the page; for software
// that draws without a graphics card the last ones
const LEVELS = [[12, 1, 2], [6, 0, 2], [4, 0, 1], [1, 0, 0.6]];
const WIDE = 1024, LARGE = 3000000;
const CROWD = 200; // balls from which on shadows, and moving pictures on slow machines, are made of coarser ones

class Scene {
  constructor(canvas, recording) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("This browser offers no WebGL 2, which the picture needs. The plots and numbers below work.");
    this.gl = gl;
    const names = gl.getExtension("WEBGL_debug_renderer_info");
    this.software = /swiftshader|llvmpipe|software/i.test(names ? gl.getParameter(names.UNMASKED_RENDERER_WEBGL) : "");
    this.canvas = canvas;
    this.recording = recording;
    this.picked = -1;
    const { facts } = recording;
    this.bodies = facts.bodies;
    this.pose = new Float32Array(7 * this.bodies);
    this.programs = {};
    for (const [key, name, vertices] of [
      ["rigid", "rigid"], ["soft", "soft"], ["ground", "ground"], ["sky", "sky"], ["wall", "wall"], ["rigid-depth", "depth", "rigid"],
      ["soft-depth", "depth", "soft"], ["rigid-number", "number", "rigid"], ["soft-number", "number", "soft"],
    ]) this.programs[key] = makeProgram(gl, name, vertices);
    this.world = recording.facts.names.length; // number of what is fixed to the world and is no body
    this.texels = new Float32Array(4 * WIDE * Math.ceil((2 * this.world + 2) / WIDE));
    this.texels[8 * this.world] = 1;
    this.poses = this.texture(gl.RGBA32F, WIDE, this.texels.length / 4 / WIDE);
    this.makeCorner();
    this.makeGroups();
    this.makeVisuals();
    this.makeSoft();
    this.makePlanes();
    this.makeWalls();
    this.triangles = this.groups.reduce((s, g) => s + (g.drawn.count / 3) * g.instances, 0);
    this.resolution = this.triangles > LARGE ? 1024 : 2048;
    this.shadow = this.depthMap(this.resolution);
    this.cover = this.depthMap(this.resolution / 2);
    this.level = 0;
    this.ball = [0, 0, 0, facts.size];
  }

  texture(format, width, height) {
    const { gl } = this, made = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, made);
    gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    return made;
  }

  depthMap(size) {
    const { gl } = this, map = this.texture(gl.DEPTH_COMPONENT24, size, size), frame = gl.createFramebuffer();
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, map, 0);
    gl.drawBuffers([gl.NONE]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { map, frame, size, matrix: new Float32Array(16) };
  }

  // A buffer as attribute number `at` of the bound vertex array; divisor 1: one entry an instance.
  attribute(at, data, size, divisor = 0, usage = this.gl.STATIC_DRAW) {
    const { gl } = this, buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, usage);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
    gl.vertexAttribDivisor(at, divisor);
    return buffer;
  }

  elements(faces) {
    const { gl } = this;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
  }

  makeCorner() {
    const { gl } = this;
    this.corner = gl.createVertexArray();
    gl.bindVertexArray(this.corner);
    this.attribute(0, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), 2);
  }

  colour(body) {
    return [0, 1, 2].map((k) => linear(this.recording.colours.data[3 * body + k] / 255));
  }

  makeGroups() {
    const { gl, recording } = this, { vertices, faces, shape_body, shape_place, shape_scale } = recording;
    let v = 0, f = 0, s = 0;
    this.groups = recording.facts.groups.map((group) => {
      const points = vertices.data.subarray(3 * v, 3 * (v + group.vertices));
      const mesh = shapeMesh(points, faces.data.subarray(3 * f, 3 * (f + group.faces)), group.style);
      const n = group.instances, turn = new Float32Array(4 * n), place = new Float32Array(3 * n), colour = new Float32Array(4 * n);
      for (let i = 0; i < n; i++) {
        const body = shape_body.data[s + i], at = 7 * (s + i);
        place.set(shape_place.data.subarray(at, at + 3), 3 * i);
        turn.set(shape_place.data.subarray(at + 3, at + 7), 4 * i);
        colour.set([...this.colour(body), body], 4 * i);
      }
      const scale = shape_scale.data.subarray(3 * s, 3 * (s + n)), instances = [[3, turn, 4], [4, place, 3], [5, scale, 3], [6, colour, 4]];
      const drawn = this.meshArray(mesh, instances), crowd = group.style === "spheres" && n > CROWD;
      const coarse = crowd ? this.meshArray(coarseSphere(), instances) : drawn;
      const reach = points.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      v += group.vertices;
      f += group.faces;
      s += n;
      return { drawn, coarse, style: STYLES[group.style] ?? 0, instances: n, width: 0.02 * reach };
    });
    gl.bindVertexArray(null);
  }

  // What bodies look like, in the place of their shapes: corners at edges are several vertices already.
  makeVisuals() {
    const { gl, recording } = this, { visual_vertices, visual_faces } = recording, unit = new Float32Array([1, 1, 1]);
    let v = 0, f = 0;
    for (const { body, vertices, faces, low, step, colour } of recording.facts.visuals) {
      const position = Float32Array.from(visual_vertices.data.subarray(3 * v, 3 * (v + vertices)), (x, i) => low[i % 3] + step * x);
      const mesh = { position, normal: new Float32Array(3 * vertices), edge: null, faces: Uint32Array.from(visual_faces.data.subarray(3 * f, 3 * (f + faces))) };
      cornerNormals(position, mesh.faces, mesh.normal);
      const instances = [[3, new Float32Array([1, 0, 0, 0]), 4], [4, new Float32Array(3), 3], [5, unit, 3], [6, new Float32Array([...colour.map(linear), body]), 4]];
      const drawn = this.meshArray(mesh, instances);
      this.groups.push({ drawn, coarse: drawn, style: STYLES.visual, instances: 1, width: 0 });
      v += vertices;
      f += faces;
    }
    gl.bindVertexArray(null);
  }

  meshArray(mesh, instances) {
    const { gl } = this, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    this.attribute(0, mesh.position, 3);
    this.attribute(1, mesh.normal, 3);
    if (mesh.edge) this.attribute(2, mesh.edge, 3);
    for (const [at, data, size] of instances) this.attribute(at, data, size, 1);
    this.elements(mesh.faces);
    return { array, count: mesh.faces.length };
  }

  makeSoft() {
    const { gl, recording } = this, faces = recording.soft_faces.data;
    if (!faces.length) return;
    const rest = this.nodesAt(0), split = splitCorners(rest, faces, CREASE.soft), count = split.source.length;
    const colour = new Float32Array(4 * count);
    for (let f = 0; f < faces.length / 3; f++) {
      const body = this.bodies + recording.soft_face_body.data[f];
      for (let k = 0; k < 3; k++) colour.set([...this.colour(body), body], 4 * split.faces[3 * f + k]);
    }
    const soft = { ...split, count, x: new Float32Array(3 * count), normal: new Float32Array(3 * count), level: new Float32Array(count) };
    soft.array = gl.createVertexArray();
    gl.bindVertexArray(soft.array);
    soft.position = this.attribute(0, soft.x, 3, 0, gl.DYNAMIC_DRAW);
    soft.normals = this.attribute(1, soft.normal, 3, 0, gl.DYNAMIC_DRAW);
    this.attribute(2, colour, 4);
    soft.levels = this.attribute(3, soft.level, 1, 0, gl.DYNAMIC_DRAW);
    this.elements(split.faces);
    gl.bindVertexArray(null);
    this.soft = soft;
  }

  // Nodes of a frame as points; in the recording all x come first.
  nodesAt(frame) {
    const { nodes } = this.recording, n = nodes.columns / 3, from = frame * nodes.columns, out = new Float32Array(3 * n);
    for (let i = 0; i < n; i++) for (let k = 0; k < 3; k++) out[3 * i + k] = nodes.data[from + k * n + i];
    return out;
  }

  makePlanes() {
    const { plane_body, plane_place } = this.recording;
    this.planes = Array.from(plane_body.data, (body, i) => ({ body, place: plane_place.data.subarray(7 * i, 7 * i + 7) }));
  }

  // Put everything where it is at frame k, by the share a on the way to the next.
  place(k, a) {
    const { recording, pose, bodies, texels, gl } = this, next = Math.min(k + 1, recording.facts.frames - 1), b = 1 - a;
    const x = recording.position.data, q = recording.turn.data, x0 = 3 * bodies * k, x1 = 3 * bodies * next;
    const q0 = 4 * bodies * k, q1 = 4 * bodies * next;
    for (let i = 0; i < bodies; i++) {
      let norm = 0;
      for (let j = 0; j < 4; j++) {
        const at = j * bodies + i, value = b * q[q0 + at] + a * q[q1 + at];
        texels[8 * i + j] = value;
        norm += value * value;
      }
      norm = 1 / (Math.sqrt(norm) || 1);
      for (let j = 0; j < 4; j++) pose[7 * i + 3 + j] = texels[8 * i + j] *= norm;
      for (let j = 0; j < 3; j++) {
        const at = j * bodies + i;
        pose[7 * i + j] = texels[8 * i + 4 + j] = b * x[x0 + at] + a * x[x1 + at];
      }
    }
    gl.bindTexture(gl.TEXTURE_2D, this.poses);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, WIDE, texels.length / 4 / WIDE, gl.RGBA, gl.FLOAT, texels);
    if (this.soft) this.placeSoft(k, next, a);
  }

  placeSoft(k, next, a) {
    const { gl, soft } = this, { nodes, node_level } = this.recording, n = nodes.columns / 3;
    const from = k * nodes.columns, to = next * nodes.columns, b = 1 - a;
    for (let c = 0; c < soft.count; c++) {
      for (let j = 0; j < 3; j++) {
        const at = j * n + soft.source[c];
        soft.x[3 * c + j] = b * nodes.data[from + at] + a * nodes.data[to + at];
      }
    }
    cornerNormals(soft.x, soft.faces, soft.normal);
    const parts = [[soft.position, soft.x], [soft.normals, soft.normal]];
    if (node_level.columns) {
      const l0 = k * n, l1 = next * n;
      for (let c = 0; c < soft.count; c++) {
        const i = soft.source[c];
        soft.level[c] = (b * node_level.data[l0 + i] + a * node_level.data[l1 + i]) / 255;
      }
      parts.push([soft.levels, soft.level]);
    }
    for (const [buffer, data] of parts) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, data);
    }
  }

  // Middle of a rigid or soft body where it is now.
  middle(body) {
    if (body < this.bodies) return Array.from(this.pose.subarray(7 * body, 7 * body + 3));
    return this.softBall(body - this.bodies).slice(0, 3);
  }

  softBall(s) {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    this.recording.soft_face_body.data.forEach((own, f) => {
      if (own !== s) return;
      for (let i = 3 * f; i < 3 * f + 3; i++) {
        for (let k = 0; k < 3; k++) {
          const x = this.soft.x[3 * this.soft.faces[i] + k];
          low[k] = Math.min(low[k], x);
          high[k] = Math.max(high[k], x);
        }
      }
    });
    return [...scaled(add(low, high), 0.5), 0.5 * Math.hypot(...subtract(high, low))];
  }

  // The sun stands behind the camera, to its left; ball: what throws shadows.
  setSun(camera, ball) {
    const above = (48 * Math.PI) / 180, aside = (55 * Math.PI) / 180, { right, forward } = camera.axes();
    const back = normalized([-forward[0], -forward[1], 0]);
    const flat = subtract(scaled(back, Math.cos(aside)), scaled(right, Math.sin(aside)));
    this.sun = [Math.cos(above) * flat[0], Math.cos(above) * flat[1], Math.sin(above)];
    this.ball = ball;
    const radius = 1.05 * ball[3];
    for (const [map, towards] of [[this.shadow, this.sun], [this.cover, [0, 0, 1]]]) {
      const x = normalized(Math.abs(towards[2]) < 0.99 ? cross([0, 0, 1], towards) : [1, 0, 0]), y = cross(towards, x);
      map.matrix = product(orthographic(radius, 2 * radius), viewMatrix(ball, x, y, scaled(towards, -1)));
    }
  }

  use(name, matrix) {
    const { gl } = this, { program, uniforms } = this.programs[name];
    gl.useProgram(program);
    gl.uniformMatrix4fv(uniforms.u_matrix ?? null, false, matrix);
    gl.uniform1i(uniforms.u_poses ?? null, 0);
    return uniforms;
  }

  drawBodies(kind, matrix, light) {
    const { gl, soft } = this, uniforms = this.use(`rigid${kind}`, matrix);
    light?.(uniforms);
    for (const group of this.groups) {
      const { array, count } = kind || this.level > 1 ? group.coarse : group.drawn;
      gl.bindVertexArray(array);
      gl.uniform1i(uniforms.u_style ?? null, group.style);
      gl.uniform1f(uniforms.u_width ?? null, group.width);
      if (group.style === STYLES.visual) gl.disable(gl.CULL_FACE); // such meshes may be open
      gl.drawElementsInstanced(gl.TRIANGLES, count, gl.UNSIGNED_INT, 0, group.instances);
      gl.enable(gl.CULL_FACE);
    }
    if (soft) {
      const found = this.use(`soft${kind}`, matrix);
      light?.(found);
      gl.uniform1i(found.u_by_level ?? null, this.recording.node_level.columns ? 1 : 0);
      if (found.u_scale) gl.uniform3fv(found.u_scale, this.recording.facts.scale.flat());
      gl.bindVertexArray(soft.array);
      gl.drawElements(gl.TRIANGLES, soft.faces.length, gl.UNSIGNED_INT, 0);
    }
  }

  drawShadows() {
    const { gl } = this;
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 2);
    for (const map of LEVELS[this.level][1] ? [this.shadow, this.cover] : [this.shadow]) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, map.frame);
      gl.viewport(0, 0, map.size, map.size);
      gl.clear(gl.DEPTH_BUFFER_BIT);
      this.drawBodies("-depth", map.matrix);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  draw(camera) {
    const { gl, canvas } = this, view = camera.matrices(canvas.width / canvas.height, this.recording.facts.size);
    this.view = view;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.CULL_FACE);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.poses);
    for (const unit of [gl.TEXTURE1, gl.TEXTURE2]) {
      gl.activeTexture(unit);
      gl.bindTexture(gl.TEXTURE_2D, null);
    }
    this.drawShadows();
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow.map);
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, this.cover.map);
    gl.activeTexture(gl.TEXTURE0);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const light = (uniforms) => {
      const set = (name, value) => gl.uniform1f(uniforms[name] ?? null, value);
      gl.uniform3fv(uniforms.u_eye ?? null, view.eye);
      gl.uniform3fv(uniforms.u_sun ?? null, this.sun);
      gl.uniformMatrix4fv(uniforms.u_light ?? null, false, this.shadow.matrix);
      gl.uniformMatrix4fv(uniforms.u_above ?? null, false, this.cover.matrix);
      gl.uniform1i(uniforms.u_shadow ?? null, 1);
      gl.uniform1i(uniforms.u_cover ?? null, 2);
      set("u_blur", 1.6 / this.shadow.size);
      set("u_blur_above", 0.03);
      set("u_lift", (2.4 * this.ball[3]) / this.shadow.size);
      set("u_occlusion", LEVELS[this.level][1]);
      gl.uniform1i(uniforms.u_taps ?? null, LEVELS[this.level][0]);
      set("u_picked", this.picked);
    };
    this.drawBodies("", view.all, light);
    this.drawGround(camera, view, light);
    this.drawSky(view, light); // where nothing else is
    this.drawWalls(view);
  }

  drawSky(view, light) {
    const { gl } = this, uniforms = this.use("sky", view.all);
    light(uniforms);
    gl.uniform3fv(uniforms.u_right, scaled(view.right, view.half[0]));
    gl.uniform3fv(uniforms.u_up, scaled(view.up, view.half[1]));
    gl.uniform3fv(uniforms.u_forward, view.forward);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(false);
    gl.bindVertexArray(this.corner);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
    gl.depthFunc(gl.LESS);
  }

  makeWalls() {
    const { gl } = this;
    this.walls = gl.createVertexArray();
    gl.bindVertexArray(this.walls);
    this.wallCorners = this.attribute(0, new Float32Array(3), 3, 0, gl.DYNAMIC_DRAW);
    gl.bindVertexArray(null);
  }

  // Half-spaces that are too steep to stand on as panes, the farthest first; as in view/picture/wall_panes.py.
  drawWalls(view) {
    const { gl, pose } = this, { walls } = this.recording.facts;
    if (!walls.length) return;
    const uniforms = this.use("wall", view.all);
    const panes = walls.map(({ body, corners }) => {
      const placed = corners.map((corner) => add(this.middle(body), turned(pose, 7 * body + 3, corner)));
      const middle = scaled(placed.reduce(add), 1 / placed.length);
      const normal = normalized(cross(subtract(placed[1], placed[0]), subtract(placed[2], placed[0])));
      return { body, placed, normal, away: Math.hypot(...subtract(middle, view.eye)) };
    });
    panes.sort((a, b) => b.away - a.away);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    gl.disable(gl.CULL_FACE);
    gl.bindVertexArray(this.walls);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.wallCorners);
    gl.uniform3fv(uniforms.u_eye, view.eye);
    for (const { body, placed, normal } of panes) {
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(placed.flat()), gl.DYNAMIC_DRAW);
      gl.uniform3fv(uniforms.u_normal, normal);
      gl.uniform3fv(uniforms.u_colour, [0.46, 0.58, 0.7].map((tint, k) => (tint * this.recording.colours.data[3 * body + k]) / 255));
      for (const [kind, edge] of [[gl.TRIANGLE_FAN, 0], [gl.LINE_LOOP, 0.6]]) {
        gl.uniform1f(uniforms.u_edge, edge);
        gl.drawArrays(kind, 0, placed.length);
      }
    }
    gl.enable(gl.CULL_FACE);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  drawGround(camera, view, light) {
    const { gl } = this, uniforms = this.use("ground", view.all), { steepest } = this.recording.facts;
    light(uniforms);
    gl.bindVertexArray(this.corner);
    for (const { body, place } of this.planes) {
      const at = (v) => turned(this.pose, 7 * body + 3, turned(place, 3, v)), normal = at([0, 0, 1]);
      if (normal[2] < steepest) continue;
      const origin = add(turned(this.pose, 7 * body + 3, Array.from(place.subarray(0, 3))), this.middle(body));
      const side = at([1, 0, 0]), along = at([0, 1, 0]), from = subtract(camera.target, origin), colour = this.colour(body);
      gl.uniform3fv(uniforms.u_origin, origin);
      gl.uniform3fv(uniforms.u_side, side);
      gl.uniform3fv(uniforms.u_along, along);
      gl.uniform3fv(uniforms.u_normal, normal);
      gl.uniform2f(uniforms.u_middle, dot(from, side), dot(from, along));
      gl.uniform1f(uniforms.u_reach, 35 * camera.distance);
      gl.uniform3fv(uniforms.u_colour, colour);
      gl.uniform1f(uniforms.u_tile, roundNumber(camera.distance / 14));
      gl.uniform1f(uniforms.u_far, 1.5 * camera.distance);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
  }
}
