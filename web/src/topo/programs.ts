// How sigma draws dots and lines: each with vertices of its own and in one call. Drawn as instances,
// as sigma's own programs do, a thousand of them take seconds on a machine that draws in software.

import { EdgeProgram, NodeProgram, type ProgramInfo } from 'sigma/rendering';
import type { EdgeDisplayData, NodeDisplayData, RenderParams } from 'sigma/types';
import { floatColor } from 'sigma/utils';

const { FLOAT, UNSIGNED_BYTE, LINES, POINTS, TRIANGLES } = WebGL2RenderingContext;

const DOT_VERTEX = `
attribute vec2 a_position;
attribute float a_size;
attribute float a_square;
attribute vec4 a_color;
attribute vec4 a_id;
uniform mat3 u_matrix;
uniform float u_scale;
varying vec4 v_color;
varying float v_radius;
varying float v_square;
void main() {
  gl_Position = vec4((u_matrix * vec3(a_position, 1.0)).xy, 0.0, 1.0);
  v_radius = max(0.8, a_size * u_scale);
  v_square = a_square;
  gl_PointSize = 2.0 * v_radius + 2.0;
  #ifdef PICKING_MODE
  v_color = a_id;
  #else
  v_color = a_color;
  #endif
  v_color.a *= 255.0 / 254.0;
}`;

const DOT_FRAGMENT = `
precision mediump float;
varying vec4 v_color;
varying float v_radius;
varying float v_square;
void main() {
  vec2 place = (gl_PointCoord - 0.5) * (2.0 * v_radius + 2.0);
  float round = v_radius * mix(1.0, 0.35, v_square);
  vec2 corner = max(abs(place) - (v_radius - round), 0.0);
  float away = length(corner) - round;
  #ifdef PICKING_MODE
  if (away > 1.0) discard;
  gl_FragColor = v_color;
  #else
  if (away > 0.5) discard;
  gl_FragColor = v_color * clamp(0.5 - away, 0.0, 1.0);
  #endif
}`;

type DotUniform = 'u_matrix' | 'u_scale';

export const drawing = {
  /** While the picture moves nothing is pointed at: what lies under the pointer is drawn when it rests. */
  picks: true,
  /** From this camera ratio on hosts are left out: seen from afar, thousands are specks. */
  hostsBelow: Infinity,
  /** Whether the picture moves on a machine that is slow to draw it: less is drawn until it rests. */
  isRough: false,
  /** Whether names are left out. */
  hidesNames: false,
  /** Pixels that are drawn for one of the screen, along each side. */
  scale: 1,
  /** Dots that wait until the lines below them are drawn; none wait where it is absent. */
  waiting: null as (() => void)[] | null,
};

const scaled = (params: RenderParams): RenderParams => ({ ...params, pixelRatio: params.pixelRatio * drawing.scale });

abstract class Dot extends NodeProgram<DotUniform> {
  protected abstract square(): number;

  getDefinition() {
    return {
      VERTICES: 1,
      VERTEX_SHADER_SOURCE: DOT_VERTEX,
      FRAGMENT_SHADER_SOURCE: DOT_FRAGMENT,
      METHOD: POINTS,
      UNIFORMS: ['u_matrix', 'u_scale'] as const,
      ATTRIBUTES: [
        { name: 'a_position', size: 2, type: FLOAT },
        { name: 'a_size', size: 1, type: FLOAT },
        { name: 'a_square', size: 1, type: FLOAT },
        { name: 'a_color', size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: 'a_id', size: 4, type: UNSIGNED_BYTE, normalized: true },
      ],
    };
  }

  override render(params: RenderParams): void {
    if (drawing.waiting === null) this.draw(params);
    else drawing.waiting.push(() => this.draw(params));
  }

  private draw(params: RenderParams): void {
    const pick = this.pickProgram;
    if (!drawing.picks) this.pickProgram = null;
    super.render(scaled(params));
    this.pickProgram = pick;
  }

  processVisibleItem(id: number, start: number, data: NodeDisplayData): void {
    const { array } = this;
    array[start] = data.x;
    array[start + 1] = data.y;
    array[start + 2] = data.size;
    array[start + 3] = this.square();
    array[start + 4] = floatColor(data.color);
    array[start + 5] = id;
  }

  setUniforms(params: RenderParams, { gl, uniformLocations }: ProgramInfo<DotUniform>): void {
    gl.uniformMatrix3fv(uniformLocations.u_matrix, false, params.matrix);
    gl.uniform1f(uniformLocations.u_scale, params.pixelRatio / params.sizeRatio / params.downSizingRatio);
  }
}

export class SquareProgram extends Dot {
  protected square(): number {
    return 1;
  }
}

export class CircleProgram extends Dot {
  override render(params: RenderParams): void {
    if (params.zoomRatio < drawing.hostsBelow) super.render(params);
  }

  protected square(): number {
    return 0;
  }
}

const WIRE_VERTEX = `
attribute vec2 a_from;
attribute vec2 a_to;
attribute vec2 a_corner;
attribute float a_width;
attribute vec4 a_color;
uniform mat3 u_matrix;
uniform vec2 u_size;
uniform float u_scale;
uniform float u_soft;
varying vec4 v_color;
varying float v_aside;
varying float v_half;
void main() {
  vec2 from = (u_matrix * vec3(a_from, 1.0)).xy;
  vec2 to = (u_matrix * vec3(a_to, 1.0)).xy;
  vec2 along = (to - from) * u_size;
  vec2 across = normalize(vec2(-along.y, along.x) + vec2(1e-6, 0.0));
  float width = max(0.5, a_width * u_scale * 0.5);
  v_half = width + 0.5 - u_soft;
  v_aside = a_corner.y * (width + u_soft);
  gl_Position = vec4(mix(from, to, a_corner.x) + across * v_aside * 2.0 / u_size, 0.0, 1.0);
  v_color = a_color;
  v_color.a *= 255.0 / 254.0;
}`;

const WIRE_FRAGMENT = `
precision mediump float;
varying vec4 v_color;
varying float v_aside;
varying float v_half;
void main() {
  gl_FragColor = v_color * clamp(v_half + 0.5 - abs(v_aside), 0.0, 1.0);
}`;

type WireUniform = 'u_matrix' | 'u_size' | 'u_scale' | 'u_soft';

/** Half the width of the soft edge of a line, in pixels. */
const SOFT = 0.5;

/** Two triangles: how far along, and on which side. */
const CORNERS = [[0, -1], [1, -1], [0, 1], [0, 1], [1, -1], [1, 1]] as const;

export class WireProgram extends EdgeProgram<WireUniform> {
  override render(params: RenderParams): void {
    super.render(scaled(params));
  }

  getDefinition() {
    return {
      VERTICES: CORNERS.length,
      VERTEX_SHADER_SOURCE: WIRE_VERTEX,
      FRAGMENT_SHADER_SOURCE: WIRE_FRAGMENT,
      METHOD: TRIANGLES,
      UNIFORMS: ['u_matrix', 'u_size', 'u_scale', 'u_soft'] as const,
      ATTRIBUTES: [
        { name: 'a_from', size: 2, type: FLOAT },
        { name: 'a_to', size: 2, type: FLOAT },
        { name: 'a_corner', size: 2, type: FLOAT },
        { name: 'a_width', size: 1, type: FLOAT },
        { name: 'a_color', size: 4, type: UNSIGNED_BYTE, normalized: true },
      ],
    };
  }

  processVisibleItem(_: number, start: number, from: NodeDisplayData, to: NodeDisplayData, data: EdgeDisplayData): void {
    const { array } = this;
    const color = floatColor(data.color);
    let at = start;
    for (const [along, aside] of CORNERS) {
      array[at] = from.x;
      array[at + 1] = from.y;
      array[at + 2] = to.x;
      array[at + 3] = to.y;
      array[at + 4] = along;
      array[at + 5] = aside;
      array[at + 6] = data.size;
      array[at + 7] = color;
      at += 8;
    }
  }

  setUniforms(params: RenderParams, { gl, uniformLocations }: ProgramInfo<WireUniform>): void {
    const { width, height, pixelRatio } = params;
    gl.uniformMatrix3fv(uniformLocations.u_matrix, false, params.matrix);
    gl.uniform2f(uniformLocations.u_size, width * pixelRatio, height * pixelRatio);
    gl.uniform1f(uniformLocations.u_scale, pixelRatio / params.sizeRatio);
    gl.uniform1f(uniformLocations.u_soft, drawing.isRough ? 0 : SOFT);
    // A line without soft edges hides what is below it.
    if (drawing.isRough) gl.disable(gl.BLEND);
  }
}

const HAIR_VERTEX = `
attribute vec2 a_place;
attribute vec4 a_color;
uniform mat3 u_matrix;
varying vec4 v_color;
void main() {
  gl_Position = vec4((u_matrix * vec3(a_place, 1.0)).xy, 0.0, 1.0);
  v_color = a_color;
  v_color.a *= 255.0 / 254.0;
}`;

const HAIR_FRAGMENT = `
precision mediump float;
varying vec4 v_color;
void main() {
  gl_FragColor = v_color;
}`;

/** Floats of a line: two ends of a place and a colour. */
const HAIR_FLOATS = 6;

/** Lines of one pixel, for thousands of links: a third of the pixels of `WireProgram`. */
export class HairProgram extends EdgeProgram<'u_matrix'> {
  /** While less is drawn every other line is: each is two pixels wide then. */
  override render(params: RenderParams): void {
    const all = this.verticesCount;
    if (drawing.isRough) this.verticesCount = 2 * this.half();
    super.render(scaled(params));
    this.verticesCount = all;
  }

  private half(): number {
    return Math.ceil(this.verticesCount / 4);
  }

  getDefinition() {
    return {
      VERTICES: 2,
      VERTEX_SHADER_SOURCE: HAIR_VERTEX,
      FRAGMENT_SHADER_SOURCE: HAIR_FRAGMENT,
      METHOD: LINES,
      UNIFORMS: ['u_matrix'] as const,
      ATTRIBUTES: [
        { name: 'a_place', size: 2, type: FLOAT },
        { name: 'a_color', size: 4, type: UNSIGNED_BYTE, normalized: true },
      ],
    };
  }

  /** Every other line lies in the first half. */
  processVisibleItem(_: number, at: number, from: NodeDisplayData, to: NodeDisplayData, data: EdgeDisplayData): void {
    const place = at / HAIR_FLOATS;
    const start = HAIR_FLOATS * (place % 2 === 0 ? place / 2 : this.half() + (place - 1) / 2);
    this.array.set([from.x, from.y, floatColor(data.color), to.x, to.y, floatColor(data.color)], start);
  }

  setUniforms(params: RenderParams, { gl, uniformLocations }: ProgramInfo<'u_matrix'>): void {
    gl.disable(gl.BLEND);
    gl.uniformMatrix3fv(uniformLocations.u_matrix, false, params.matrix);
  }
}
