// Sigma with one canvas for lines and dots, which nothing shines through. Each layer over the whole
// picture costs a browser without a graphics card as much as what is drawn on it.

import Sigma from 'sigma';
import { drawing } from './programs';

type Options = Parameters<Sigma['createWebGLContext']>[1];
/** Known to browsers, though not to the types of sigma. */
const OPAQUE = { alpha: false } as object;

/** The ground that the next picture is drawn on, as parts of 1. */
let ground: readonly [number, number, number] = [0, 0, 0];

export class Picture extends Sigma {
  static on(color: string): typeof Picture {
    const number = Number.parseInt(color.slice(1), 16);
    ground = [(number >> 16) / 255, ((number >> 8) & 0xff) / 255, (number & 0xff) / 255];
    return Picture;
  }

  override createWebGLContext(id: string, options: Options = {}): WebGLRenderingContext {
    if (id === 'edges') {
      const gl = super.createWebGLContext(id, { ...options, ...OPAQUE });
      this.on('afterClear', () => gl.clear(gl.DEPTH_BUFFER_BIT));
      // While nothing is picked, what is picked from is not made anew for each frame.
      const own = this as unknown as { resetWebGLTexture: (id: string) => unknown };
      const usual = own.resetWebGLTexture.bind(this);
      own.resetWebGLTexture = (layer) => (drawing.picks ? usual(layer) : this);
      gl.clearColor(ground[0], ground[1], ground[2], 1);
      return gl;
    }
    if (id !== 'nodes') return super.createWebGLContext(id, options);
    const layers = this as unknown as { elements: Record<string, HTMLCanvasElement> };
    const canvas = layers.elements['edges']!;
    layers.elements['nodes'] = canvas;
    return super.createWebGLContext(id, { ...options, canvas } as Options);
  }
}
