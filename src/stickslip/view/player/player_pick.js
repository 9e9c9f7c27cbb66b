// Which body is where the mouse is.

// The body at a point of the canvas, in its pixels from the lower left; -1: none. Bodies are drawn as numbers there.
function bodyAt(scene, x, y) {
  const { gl, canvas } = scene, numbers = (scene.numbers ??= { frame: gl.createFramebuffer(), width: 0, height: 0 });
  if (numbers.width !== canvas.width || numbers.height !== canvas.height) {
    Object.assign(numbers, { width: canvas.width, height: canvas.height });
    gl.bindFramebuffer(gl.FRAMEBUFFER, numbers.frame);
    for (const [format, part] of [[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT]]) {
      const store = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, store);
      gl.renderbufferStorage(gl.RENDERBUFFER, format, canvas.width, canvas.height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, part, gl.RENDERBUFFER, store);
    }
  }
  gl.bindFramebuffer(gl.FRAMEBUFFER, numbers.frame);
  gl.viewport(0, 0, canvas.width, canvas.height);
  gl.enable(gl.SCISSOR_TEST);
  gl.scissor(x, y, 1, 1);
  gl.clearColor(0, 0, 0, 0);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  scene.drawBodies("-number", scene.view.all);
  gl.disable(gl.SCISSOR_TEST);
  const pixel = new Uint8Array(4);
  gl.readPixels(x, y, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  const body = pixel[0] + 256 * pixel[1] + 65536 * pixel[2] - 1;
  return body < scene.world ? body : -1; // what is fixed to the world has no name
}
