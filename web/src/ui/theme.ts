// Dark or light, as the system has it unless a person chose.

import { Cell } from '../core/cell';
import { theme } from '../core/network';

const system = matchMedia('(prefers-color-scheme: light)');

const judge = (): boolean => (theme.value === 'system' ? !system.matches : theme.value === 'dark');

export const isDark = new Cell(judge());

function apply(): void {
  isDark.set(judge());
  document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light';
}

apply();
theme.follow(apply);
system.addEventListener('change', apply);

export const toggle = (): void => theme.set(isDark.value ? 'light' : 'dark');
