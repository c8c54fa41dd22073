// The colours of the picture, by the theme of the page.

export interface Palette {
  dark: boolean;
  ground: string;
  panel: string;
  text: string;
  dim: string;
  link: string;
  /** Links of a network that has thousands. */
  hair: string;
  host: string;
  spoke: string;
  node: string;
  accent: string;
  bad: string;
  warn: string;
  /** From none to much. */
  heat: readonly string[];
  /** Kinds of things, told apart without red against green. */
  kinds: readonly string[];
}

const DARK: Palette = {
  dark: true,
  ground: '#080c14',
  panel: '#111a28',
  text: '#e8edf6',
  dim: '#27303f',
  link: '#3a4a63',
  hair: '#22304a',
  host: '#5f7fae',
  spoke: '#1f2b3d',
  node: '#9fb4d4',
  accent: '#ffb224',
  bad: '#ff5c66',
  warn: '#f5d565',
  heat: ['#33425c', '#2f6f9f', '#2aa5b8', '#5fd0a0', '#d8d65a', '#ffb224', '#ff6b3d'],
  kinds: ['#5aa9ff', '#ffb224', '#3ecf9a', '#c58cff', '#ff7d9c', '#7fd6e8', '#d6c37a', '#9aa9c2'],
};

const LIGHT: Palette = {
  dark: false,
  ground: '#f6f7f9',
  panel: '#ffffff',
  text: '#141b28',
  dim: '#d9dee6',
  link: '#9aa7ba',
  hair: '#c6cedb',
  host: '#8aa0c2',
  spoke: '#d5dbe5',
  node: '#44597a',
  accent: '#d97706',
  bad: '#d3293a',
  warn: '#b98900',
  heat: ['#b9c4d4', '#7fb2d6', '#3f9fb5', '#3f9f74', '#b3a527', '#e08a00', '#cf4a1c'],
  kinds: ['#1f6fd6', '#c77700', '#12875c', '#8a46d8', '#c9365f', '#14839b', '#7f6c14', '#5c6a82'],
};

export const palette = (dark: boolean): Palette => (dark ? DARK : LIGHT);

/** A colour for a part of the whole, from 0 to 1. */
export function heat(colours: Palette, part: number): string {
  const steps = colours.heat;
  const at = Math.round(Math.min(1, Math.max(0, part)) * (steps.length - 1));
  return steps[at]!;
}
