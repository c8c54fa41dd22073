// Small pictures, drawn with the colour of the text around them.

import type { JSX } from 'preact';

const PATHS = {
  topology: 'M5 5h4v4H5zM15 5h4v4h-4zM10 15h4v4h-4zM9 7h6M7.500 9l3.500 6M16.500 9 13 15',
  switches: 'M3 6h18v5H3zM3 13h18v5H3zM6.500 8.500h.01M10 8.500h.01M6.500 15.500h.01M10 15.500h.01M15 8.500h3M15 15.500h3',
  performance: 'M3 20h18M6 16v-4M11 16V6M16 16v-7M20.500 16v-2',
  apps: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM17 14v6M14 17h6',
  hosts: 'M4 5h16v10H4zM9 19h6M12 15v4',
  flows: 'M4 7h11l-3-3M20 17H9l3 3M4 12h16',
  acl: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4',
  events: 'M4 12h3l2-6 4 13 3-9 1.500 2H20',
  reports: 'M9 3h6M10 3v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M8 14h8',
  log: 'M5 4h14v16H5zM8 8h8M8 12h8M8 16h5',
  settings:
    'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100M16.300 7.700l2.100-2.100',
  search: 'M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500 20 20',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600 19 19M5 19l1.400-1.400M17.600 6.400 19 5',
  moon: 'M20 14.500A8 8 0 0 1 9.500 4a8 8 0 1 0 10.500 10.500z',
  help: 'M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 17.500h.01',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  down: 'M12 4v12M7 11l5 5 5-5M5 20h14',
  later: 'M12 5v13M6 12l6 6 6-6',
  earlier: 'M12 19V6M6 12l6-6 6 6',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  whole: 'M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5',
  magic: 'M5 19 15 9M14 4v3M12.500 5.500h3M19 10v3M17.500 11.500h3M7 5v3M5.500 6.500h3',
  route: 'M6 6h.01M18 18h.01M6 9v4a3 3 0 0 0 3 3h6M6 4a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM18 14a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  edit: 'M4 20h4L19 9l-4-4L4 16z',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c1-5 4-7 8-7s7 2 8 7',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  back: 'M14 6l-6 6 6 6',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The signal lamp that the project is named after. */
export function Lamp({ size = 26 }: { size?: number }): JSX.Element {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path class="lamp-body" d="M9 8h9a7 7 0 0 1 7 8 7 7 0 0 1-7 8H9z" />
      <path class="lamp-slats" d="M12.500 8v16M16.500 8v16" />
      <path class="lamp-base" d="M6 10v12" />
    </svg>
  );
}
