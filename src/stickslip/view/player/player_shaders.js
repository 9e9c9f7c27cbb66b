// Programs of the graphics card. Light, colours and marks on surfaces are those of view/picture/shading.py.

const TURN = `
vec3 turned(vec4 q, vec3 v) {  // q: (w, x, y, z)
  vec3 t = 2.0 * cross(q.yzw, v);
  return v + q.x * t + cross(q.yzw, t);
}`;

const LIGHT = `
uniform vec3 u_eye, u_sun;
uniform mat4 u_light, u_above;
uniform highp sampler2DShadow u_shadow, u_cover;
uniform float u_blur, u_lift, u_occlusion, u_blur_above;
uniform int u_taps;

vec3 sky(vec3 d) {
  float up = sqrt(max(0.0, d.z));
  return vec3(0.86 - 0.50 * up, 0.90 - 0.36 * up, 0.94 - 0.16 * up);
}

vec3 encoded(vec3 c) {  // sRGB within half a step of 255, by roots, which are much cheaper than powers without a graphics card
  vec3 a = sqrt(clamp(c, 0.0, 1.0)), b = sqrt(a);
  return 0.585122381 * a + 0.783140355 * b - 0.368262736 * sqrt(b);
}

float spread(vec2 cell) {  // an angle that differs from pixel to pixel
  return 6.2831853 * fract(52.9829189 * fract(dot(floor(cell), vec2(0.06711056, 0.00583715))));
}

float seen(highp sampler2DShadow map, vec3 at, float blur, int taps) {
  if (any(greaterThan(abs(at - 0.5), vec3(0.499)))) return 1.0;
  if (taps == 1) return texture(map, at);
  float sum = 0.0, angle = spread(gl_FragCoord.xy), each = 1.0 / float(taps);
  vec2 way = blur * vec2(cos(angle), sin(angle));
  for (int i = 0; i < taps; i++) {
    sum += texture(map, vec3(at.xy + sqrt((float(i) + 0.5) * each) * way, at.z));
    way = mat2(-0.7373688, 0.6754903, -0.6754903, -0.7373688) * way;  // on by the golden angle
  }
  return sum * each;
}

// Linear colour of a surface at p with normal n; gloss: how much it shines.
vec3 lit(vec3 colour, vec3 p, vec3 n, float gloss) {
  vec3 sun_light = vec3(2.15, 2.02, 1.80), sky_light = vec3(0.80, 0.90, 1.06);
  float facing = max(0.0, dot(n, u_sun));
  vec3 lifted = p + u_lift * n;
  float visible = facing > 0.0 ? seen(u_shadow, (u_light * vec4(lifted + u_lift * u_sun, 1.0)).xyz * 0.5 + 0.5, u_blur, u_taps) : 0.0;
  vec3 half_way = normalize(u_sun + normalize(u_eye - p));
  float shine = gloss * pow(max(0.0, dot(n, half_way)), 48.0);
  float ambient = mix(0.45, 1.0, 0.5 + 0.5 * n.z);
  if (u_occlusion > 0.0) {
    float open = seen(u_cover, (u_above * vec4(lifted + 3.0 * u_lift * vec3(0.0, 0.0, 1.0), 1.0)).xyz * 0.5 + 0.5, u_blur_above, 16);
    ambient *= mix(1.0, mix(0.35, 1.0, open), u_occlusion * (0.35 + 0.65 * max(0.0, n.z)));
  }
  return visible * sun_light * (colour * facing / 3.0 + (facing > 0.0 ? shine : 0.0)) + ambient * sky_light * colour * 0.55;
}`;

const SHADERS = {
  rigid: [`
layout(location = 0) in vec3 a_position;
layout(location = 1) in vec3 a_normal;
layout(location = 2) in vec3 a_edge;
layout(location = 3) in vec4 a_turn;
layout(location = 4) in vec3 a_place;
layout(location = 5) in vec3 a_scale;
layout(location = 6) in vec4 a_colour;  // and the number of the body
uniform mat4 u_matrix;
uniform sampler2D u_poses;
out vec3 v_world, v_normal, v_local, v_edge;
flat out vec4 v_colour;
flat out vec3 v_scale;
${TURN}
void main() {
  int at = 2 * int(a_colour.a + 0.5), wide = textureSize(u_poses, 0).x;
  vec4 q = texelFetch(u_poses, ivec2(at % wide, at / wide), 0);
  vec4 p = texelFetch(u_poses, ivec2((at + 1) % wide, (at + 1) / wide), 0);
  v_local = a_position * a_scale;
  v_world = turned(q, turned(a_turn, v_local) + a_place) + p.xyz;
  v_normal = turned(q, turned(a_turn, a_normal / a_scale));
  v_edge = a_edge;
  v_colour = a_colour;
  v_scale = a_scale;
  gl_Position = u_matrix * vec4(v_world, 1.0);
}`, `
in vec3 v_world, v_normal, v_local, v_edge;
flat in vec4 v_colour;
flat in vec3 v_scale;
uniform int u_style;
uniform float u_width, u_picked;
out vec4 colour;
${LIGHT}
float border(float x, float width) {  // 1 where x < width, smooth over a pixel
  float soft = max(fwidth(x), 1e-7);
  return (1.0 - smoothstep(width - 0.5 * soft, width + 0.5 * soft, x)) * min(1.0, 1.5 * width / soft);
}
void main() {
  float tint = 1.0, gloss = 0.22;
  vec3 p = abs(v_local);
  if (u_style == 1) tint = mix(1.0, 0.62, border(p.z, 0.16 * v_scale.x));
  if (u_style == 2) {
    vec3 d = v_scale - p;
    float inner = d.x + d.y + d.z - min(d.x, min(d.y, d.z)) - max(d.x, max(d.y, d.z));
    tint = mix(1.0, 1.28, border(inner, 0.05 * min(v_scale.x, min(v_scale.y, v_scale.z))));
    gloss = 0.03;
  }
  if (u_style == 3) tint = mix(1.0, 1.28, border(max(v_scale.x - length(v_local.xy), v_scale.z - p.z), 0.05 * min(v_scale.x, v_scale.z)));
  if (u_style == 4) {
    tint = mix(1.0, 1.28, border(min(v_edge.x, min(v_edge.y, v_edge.z)), u_width));
    gloss = 0.03;
  }
  if (u_style == 5) gloss = 0.1;
  vec3 n = u_style == 6 && !gl_FrontFacing ? -v_normal : v_normal;
  vec3 c = v_colour.rgb * tint;
  if (abs(v_colour.a - u_picked) < 0.5) c = mix(c, vec3(1.0, 0.95, 0.7), 0.35);
  colour = vec4(encoded(lit(c, v_world, normalize(n), gloss)), 1.0);
}`],

  soft: [`
layout(location = 0) in vec3 a_position;
layout(location = 1) in vec3 a_normal;
layout(location = 2) in vec4 a_colour;  // and the number of the body
layout(location = 3) in float a_level;
uniform mat4 u_matrix;
out vec3 v_world, v_normal;
out float v_level;
flat out vec4 v_colour;
void main() {
  v_world = a_position;
  v_normal = a_normal;
  v_level = a_level;
  v_colour = a_colour;
  gl_Position = u_matrix * vec4(a_position, 1.0);
}`, `
in vec3 v_world, v_normal;
in float v_level;
flat in vec4 v_colour;
uniform bool u_by_level;
uniform vec3 u_scale[5];
uniform float u_picked;
out vec4 colour;
${LIGHT}
void main() {
  vec3 c = v_colour.rgb;
  if (u_by_level) {
    float at = clamp(v_level, 0.0, 1.0) * 4.0;
    int k = min(3, int(at));
    vec3 s = mix(u_scale[k], u_scale[k + 1], at - float(k));
    c = mix(s / 12.92, pow((s + 0.055) / 1.055, vec3(2.4)), step(0.04045, s));
  }
  if (abs(v_colour.a - u_picked) < 0.5) c = mix(c, vec3(1.0, 0.95, 0.7), 0.35);
  colour = vec4(encoded(lit(c, v_world, normalize(v_normal), 0.06)), 1.0);
}`],

  ground: [`
layout(location = 0) in vec2 a_corner;
uniform mat4 u_matrix;
uniform vec3 u_origin, u_side, u_along;
uniform vec2 u_middle;
uniform float u_reach;
out vec3 v_world;
out vec2 v_plane;
void main() {
  v_plane = u_middle + u_reach * a_corner;
  v_world = u_origin + v_plane.x * u_side + v_plane.y * u_along;
  gl_Position = u_matrix * vec4(v_world, 1.0);
}`, `
in vec3 v_world;
in vec2 v_plane;
uniform vec3 u_colour, u_normal;
uniform float u_tile, u_far;
out vec4 colour;
${LIGHT}
float checker(vec2 x) {  // -1 and 1, averaged over a pixel
  vec2 w = max(fwidth(x), vec2(1e-4));
  vec2 i = 2.0 * (abs(fract((x - 0.5 * w) * 0.5) - 0.5) - abs(fract((x + 0.5 * w) * 0.5) - 0.5)) / w;
  return i.x * i.y;
}
void main() {
  float t = distance(u_eye, v_world);
  float tint = 1.0 - 0.07 * checker(v_plane / u_tile) * exp(-t / (2.0 * u_far));
  float late = max(0.0, t - u_far) / (4.0 * u_far), haze = 1.0 - exp(-late * late);
  vec3 c = lit(u_colour * tint, v_world, u_normal, 0.0);
  vec3 d = v_world - u_eye;
  colour = vec4(encoded(mix(c, sky(normalize(vec3(d.xy, 0.0))), haze)), 1.0);
}`],

  wall: [`
layout(location = 0) in vec3 a_position;
uniform mat4 u_matrix;
out vec3 v_world;
void main() {
  v_world = a_position;
  gl_Position = u_matrix * vec4(a_position, 1.0);
}`, `
in vec3 v_world;
uniform vec3 u_eye, u_normal, u_colour;
uniform float u_edge;  // how opaque edges are; 0 for the pane
out vec4 colour;
void main() {
  float slant = 1.0 - abs(dot(u_normal, normalize(v_world - u_eye)));
  colour = vec4(u_colour, u_edge > 0.0 ? u_edge : 0.09 + 0.3 * slant * slant * slant);
}`],

  sky: [`
layout(location = 0) in vec2 a_corner;
uniform vec3 u_right, u_up, u_forward;
out vec3 v_direction;
void main() {
  v_direction = u_forward + a_corner.x * u_right + a_corner.y * u_up;
  gl_Position = vec4(a_corner, 1.0, 1.0);
}`, `
in vec3 v_direction;
out vec4 colour;
${LIGHT}
void main() { colour = vec4(encoded(sky(normalize(v_direction))), 1.0); }`],

  depth: [null, `void main() {}`],  // with the vertices of rigid or soft bodies

  number: [null, `
flat in vec4 v_colour;
out vec4 colour;
void main() {
  int n = int(v_colour.a + 0.5) + 1;
  colour = vec4(float(n & 255), float((n >> 8) & 255), float((n >> 16) & 255), 255.0) / 255.0;
}`],

  line: [`
layout(location = 0) in vec3 a_corner;  // across, across, and where along it: 0 start, 1 neck, 2 neck of the head, 3 tip
layout(location = 1) in vec3 a_from;
layout(location = 2) in vec3 a_to;
layout(location = 3) in vec4 a_colour;  // and 1 where it has a head
uniform mat4 u_matrix;
uniform float u_pixel, u_thick;
out vec3 v_colour, v_normal;
void main() {
  vec3 way = a_to - a_from;
  float length_ = max(length(way), 1e-12);
  vec3 z = way / length_, x = normalize(abs(z.z) < 0.9 ? cross(z, vec3(0, 0, 1)) : cross(z, vec3(1, 0, 0))), y = cross(z, x);
  float unit = u_pixel * max((u_matrix * vec4(a_from, 1.0)).w, 1e-6);
  float radius = u_thick * unit, head = a_colour.a > 0.5 ? min(6.0 * radius, 0.5 * length_) : 0.0;
  float wide = a_corner.z > 2.5 ? 0.0 : a_corner.z > 1.5 ? 0.45 * head : min(radius, a_colour.a > 0.5 ? 0.12 * length_ : radius);
  float along = a_corner.z < 0.5 ? 0.0 : a_corner.z < 2.5 ? length_ - head : length_;
  v_normal = a_corner.x * x + a_corner.y * y;
  gl_Position = u_matrix * vec4(a_from + along * z + wide * v_normal, 1.0);
  v_colour = a_colour.rgb;
}`, `
in vec3 v_colour, v_normal;
uniform vec3 u_sun;
out vec4 colour;
void main() { colour = vec4(v_colour * (0.82 + 0.18 * dot(normalize(v_normal), u_sun)), 1.0); }`],

  dot: [`
layout(location = 0) in vec3 a_position;
layout(location = 1) in vec3 a_colour;
uniform mat4 u_matrix;
uniform float u_thick;
out vec3 v_colour;
void main() {
  v_colour = a_colour;
  gl_Position = u_matrix * vec4(a_position, 1.0);
  gl_PointSize = u_thick;
}`, `
in vec3 v_colour;
out vec4 colour;
void main() {
  float r = length(2.0 * gl_PointCoord - 1.0);
  if (r > 1.0) discard;
  colour = vec4(r > 0.72 ? v_colour * 0.55 : v_colour, 1.0);
}`],
};

const HEADER = "#version 300 es\nprecision highp float;\nprecision highp int;\n";

// A program with its uniforms by name; vertices may be those of another program.
function makeProgram(gl, name, vertices = name) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, SHADERS[vertices][0]], [gl.FRAGMENT_SHADER, SHADERS[name][1]]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, HEADER + text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(`shader ${name}: ${gl.getShaderInfoLog(shader)}`);
    }
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`program ${name}: ${gl.getProgramInfoLog(program)}`);
  }
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
    const found = gl.getActiveUniform(program, i).name.replace("[0]", "");
    uniforms[found] = gl.getUniformLocation(program, found);
  }
  return { program, uniforms };
}
