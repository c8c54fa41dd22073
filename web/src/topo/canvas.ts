// Sigma with one canvas for lines and dots, which nothing shines through. Each layer over the whole
// picture costs a browser without a graphics card as much as what is drawn on it.

import Sigma from 'sigma';
import { drawing } from './programs';

type Options = Parameters<Sigma['createWebGLContext']>[1];
/** Known to browsers, though not to the types of sigma. */
const OPAQUE = { alpha: false, depth: false } as object;

/** What sigma keeps to itself. */
interface Inner {
  resetWebGLTexture: (id: string) => unknown;
  renderLabels: () => unknown;
}

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
      // While nothing is picked, what is picked from is not made anew for each frame.
      const own = this as unknown as Inner;
      const usual = own.resetWebGLTexture.bind(this);
      own.resetWebGLTexture = (layer) => (drawing.picks ? usual(layer) : this);
      gl.clearColor(ground[0], ground[1], ground[2], 1);
      this.on('beforeClear', () => this.fit(gl.canvas as HTMLCanvasElement));
      this.linesFirst(own);
      return gl;
    }
    if (id !== 'nodes') return super.createWebGLContext(id, options);
    const layers = this as unknown as { elements: Record<string, HTMLCanvasElement> };
    const canvas = layers.elements['edges']!;
    layers.elements['nodes'] = canvas;
    return super.createWebGLContext(id, { ...options, canvas } as Options);
  }

  /** Sigma draws dots before lines: they wait until it comes to the labels. */
  private linesFirst(own: Inner): void {
    const usual = own.renderLabels.bind(this);
    this.on('afterClear', () => (drawing.waiting = []));
    own.renderLabels = () => {
      const dots = drawing.waiting ?? [];
      drawing.waiting = null;
      for (const draw of dots) draw();
      return usual();
    };
  }

  /** Gives the canvas as many pixels as are drawn. */
  private fit(canvas: HTMLCanvasElement): void {
    const { width, height } = this.getDimensions();
    const { pixelRatio } = this.getRenderParams();
    const [wide, high] = [width, height].map((side) => Math.round(side * pixelRatio * drawing.scale)) as [number, number];
    // A new size empties the canvas: it is changed where all is drawn anew.
    if (canvas.width === wide && canvas.height === high) return;
    canvas.width = wide;
    canvas.height = high;
  }
}
