// Reads what data.py packed.

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// A block as {rows, columns, data}: row after row, integers where its step is 1, else floats.
async function readBlock(block, bytes) {
  const { rows, columns, order, across, planes, step } = block;
  const raw = await inflated(bytes), count = rows * columns;
  const table = new Int32Array(count);
  for (let k = 0; k < planes; k++) {
    const shift = 8 * k, from = k * count;
    for (let c = 0; c < columns; c++) {
      for (let r = 0, i = from + c * rows, o = c; r < rows; r++, i++, o += columns) table[o] |= raw[i] << shift;
    }
  }
  if (step === 0) return { rows, columns, data: new Float32Array(table.buffer) };
  for (let i = 0; i < count; i++) table[i] = (table[i] >>> 1) ^ -(table[i] & 1);
  if (across) {
    for (let r = 0; r < rows; r++) {
      for (let c = 1, i = r * columns + 1; c < columns; c++, i++) table[i] += table[i - 1];
    }
  }
  for (let k = 0; k < order; k++) for (let i = columns; i < count; i++) table[i] += table[i - columns];
  if (step === 1) return { rows, columns, data: table };
  const data = columns === 1 ? new Float64Array(count) : new Float32Array(count);
  for (let i = 0; i < count; i++) data[i] = table[i] * step;
  return { rows, columns, data };
}

// Facts of the recording, and its blocks by name.
async function readRecording(base64) {
  const bytes = bytesOf(base64);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const facts = JSON.parse(new TextDecoder().decode(await inflated(bytes.subarray(4, 4 + length))));
  const read = {};
  for (const [name, block] of Object.entries(facts.blocks)) {
    const at = 4 + length + block.at;
    read[name] = await readBlock(block, bytes.subarray(at, at + block.size));
  }
  return { facts, ...read };
}

// Rows of contacts by frame: {start (frames + 1), order}, so that those of frame f are order[start[f]..start[f + 1]].
function contactsByFrame(frames, count) {
  const start = new Int32Array(count + 1), order = new Int32Array(frames.length);
  for (const f of frames) start[f + 1]++;
  for (let f = 0; f < count; f++) start[f + 1] += start[f];
  const next = start.slice();
  for (let i = 0; i < frames.length; i++) order[next[frames[i]]++] = i;
  return { start, order };
}
