// Contacts and joints, drawn over the bodies so that these do not hide them; colours are those of view/marks.py.

const STATUS = [[0.55, 0.55, 0.55], [0.10, 0.45, 0.85], [0.93, 0.25, 0.12]];
const STATUS_NAMES = ["open", "stick", "slip"];
const JOINT = [0.58, 0.25, 0.72], BROKEN = [0.75, 0.75, 0.75], WORLD = -1;
const AROUND = 8;
const LONGEST = 4; // longest arrows, in arrows of the usual force: impacts are no longer

class Marks {
  constructor(scene, recording) {
    const { gl } = scene, { facts } = recording;
    this.scene = scene;
    this.recording = recording;
    this.programs = { line: makeProgram(gl, "line"), dot: makeProgram(gl, "dot") };
    this.hasContacts = (recording.contact_frame?.rows ?? 0) > 0;
    this.hasJoints = recording.joint_body.rows > 0;
    if (this.hasContacts) {
      this.index = contactsByFrame(recording.contact_frame.data, facts.frames);
      // the arrow of a usual force is a tenth of the scene long, less where there are many
      this.metres = facts.usual_force > 0 ? (0.1 * facts.size * facts.mark_size) / facts.usual_force : 0;
    }
    this.makeLine(gl);
    this.dots = gl.createVertexArray();
    gl.bindVertexArray(this.dots);
    this.dotAt = scene.attribute(0, new Float32Array(3), 3, 0, gl.DYNAMIC_DRAW);
    this.dotColour = scene.attribute(1, new Float32Array(3), 3, 0, gl.DYNAMIC_DRAW);
    gl.bindVertexArray(null);
  }

  makeLine(gl) {
    const corners = [], faces = [];
    for (let ring = 0; ring < 4; ring++) {
      for (let i = 0; i < AROUND; i++) {
        const angle = (2 * Math.PI * i) / AROUND;
        corners.push(Math.cos(angle), Math.sin(angle), ring);
        const a = AROUND * ring + i, b = AROUND * ring + ((i + 1) % AROUND);
        if (ring < 3) faces.push(a, b, a + AROUND, b, b + AROUND, a + AROUND);
      }
    }
    this.lines = gl.createVertexArray();
    gl.bindVertexArray(this.lines);
    this.scene.attribute(0, new Float32Array(corners), 3);
    this.lineBuffers = [1, 2, 3].map((at) => this.scene.attribute(at, new Float32Array(4), at === 3 ? 4 : 3, 1, gl.DYNAMIC_DRAW));
    this.scene.elements(new Uint16Array(faces));
    this.lineCount = faces.length;
    gl.bindVertexArray(null);
  }

  contactForce(row, k) {
    const { facts, contact_force } = this.recording, level = contact_force.data[3 * row + k] / facts.force_levels;
    return level * Math.abs(level) * facts.largest_force;
  }

  contactCount(frame) {
    return this.index ? this.index.start[frame + 1] - this.index.start[frame] : 0;
  }

  collectContacts(frame, lines, dots) {
    const { facts, contact_point, contact_status } = this.recording, { start, order } = this.index;
    for (let i = start[frame]; i < start[frame + 1]; i++) {
      const row = order[i], colour = STATUS[contact_status.data[row]] ?? STATUS[0];
      const at = Array.from(contact_point.data.subarray(3 * row, 3 * row + 3));
      dots.push(at, colour);
      const force = [0, 1, 2].map((k) => this.contactForce(row, k));
      const strength = Math.hypot(...force), share = Math.min(1, (LONGEST * facts.usual_force) / strength);
      if (strength > 0) lines.push([at, add(at, scaled(force, share * this.metres)), [...colour, 1]]);
    }
  }

  collectJoints(frame, lines, dots) {
    const { joint_body, joint_anchor, joint_broken } = this.recording, { pose } = this.scene;
    for (let j = 0; j < joint_body.rows; j++) {
      const colour = joint_broken.data[frame * joint_body.rows + j] ? BROKEN : JOINT;
      const ends = [0, 1].map((side) => {
        const body = joint_body.data[2 * j + side], anchor = Array.from(joint_anchor.data.subarray(6 * j + 3 * side, 6 * j + 3 * side + 3));
        if (body === WORLD) return [anchor, anchor];
        const centre = this.scene.middle(body);
        return [add(centre, turned(pose, 7 * body + 3, anchor)), centre];
      });
      const [[a, from], [b, to]] = ends;
      for (const [p, q] of [[from, a], [a, b], [b, to]]) {
        if (Math.hypot(...subtract(p, q)) > 1e-9) lines.push([p, q, [...colour, 0]]);
      }
      dots.push(a, colour);
    }
  }

  // frame: the one whose contacts are shown.
  draw(frame, contacts, joints) {
    const { gl, view, sun, canvas } = this.scene;
    const ratio = canvas.width / Math.max(1, canvas.clientWidth), small = Math.max(0.5, this.recording.facts.mark_size ?? 1);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    for (const [wanted, collect, thick, size] of [
      [joints && this.hasJoints, this.collectJoints, 1.4, 6], [contacts && this.hasContacts, this.collectContacts, 1.7 * small, 5 * small],
    ]) {
      if (!wanted) continue;
      const lines = [], dots = [];
      collect.call(this, frame, lines, dots);
      const fill = (buffer, data) => {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
      };
      if (lines.length) {
        for (let k = 0; k < 3; k++) {
          const wide = k === 2 ? 4 : 3, data = new Float32Array(wide * lines.length);
          lines.forEach((line, i) => data.set(line[k], wide * i));
          fill(this.lineBuffers[k], data);
        }
        const { program, uniforms } = this.programs.line;
        gl.useProgram(program);
        gl.uniformMatrix4fv(uniforms.u_matrix, false, view.all);
        gl.uniform3fv(uniforms.u_sun, sun);
        gl.uniform1f(uniforms.u_pixel, (2 * view.half[1] * ratio) / canvas.height);
        gl.uniform1f(uniforms.u_thick, thick);
        gl.disable(gl.CULL_FACE);
        gl.bindVertexArray(this.lines);
        gl.drawElementsInstanced(gl.TRIANGLES, this.lineCount, gl.UNSIGNED_SHORT, 0, lines.length);
        gl.enable(gl.CULL_FACE);
      }
      if (dots.length) {
        fill(this.dotAt, new Float32Array(dots.filter((_, i) => i % 2 === 0).flat()));
        fill(this.dotColour, new Float32Array(dots.filter((_, i) => i % 2 === 1).flat()));
        const { program, uniforms } = this.programs.dot;
        gl.useProgram(program);
        gl.uniformMatrix4fv(uniforms.u_matrix, false, view.all);
        gl.uniform1f(uniforms.u_thick, size * ratio);
        gl.bindVertexArray(this.dots);
        gl.drawArrays(gl.POINTS, 0, dots.length / 2);
      }
    }
    gl.bindVertexArray(null);
  }

  // [m] lengths of the arrows of a frame.
  arrowLengths(frame) {
    const lines = [];
    if (this.hasContacts) this.collectContacts(frame, lines, []);
    return lines.map(([from, to]) => Math.hypot(...subtract(to, from)));
  }

  // A round force and the length of its arrow in pixels of the page, at the distance of the camera's target.
  arrowKey(camera, height, aspect) {
    const pixels = height / (2 * camera.half(aspect)[1] * camera.distance);
    const force = roundNumber(Math.min(80 / (this.metres * pixels), LONGEST * this.recording.facts.usual_force));
    return { force, pixels: force * this.metres * pixels };
  }
}
