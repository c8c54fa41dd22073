// The names beside things: switches to their right, hosts below.

import type { Settings } from 'sigma/settings';
import type { NodeDisplayData, PartialButFor } from 'sigma/types';
import type { Palette } from './palette';
import { drawing } from './programs';

type Labelled = PartialButFor<NodeDisplayData, 'x' | 'y' | 'size' | 'label' | 'color'>;

export const labelOf = (colours: Palette) => (pen: CanvasRenderingContext2D, data: Labelled, settings: Settings) => {
  if (!data.label || drawing.hidesNames) return;
  const isHost = data['type'] === 'circle';
  pen.font = `${isHost ? 10 : 12}px ${settings.labelFont}`;
  pen.fillStyle = colours.text;
  pen.strokeStyle = colours.ground;
  pen.lineWidth = 3;
  pen.lineJoin = 'round';
  pen.textAlign = isHost ? 'center' : 'left';
  const [x, y] = isHost ? [data.x, data.y + data.size + 12] : [data.x + data.size * 0.8 + 3, data.y - data.size * 0.8 - 3];
  // The outline costs as much as the letters: it is drawn when the picture rests.
  if (drawing.picks) pen.strokeText(data.label, x, y);
  pen.fillText(data.label, x, y);
};

/** A ring around what the pointer is on. */
export const ringOf = (colours: Palette) => (pen: CanvasRenderingContext2D, data: Labelled, settings: Settings) => {
  pen.beginPath();
  pen.arc(data.x, data.y, data.size + 5, 0, 2 * Math.PI);
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 2;
  pen.stroke();
  labelOf(colours)(pen, data, settings);
};
