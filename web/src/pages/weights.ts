// Weights: rules of which the first that names a switch counts.

import { ask } from '../core/api';
import type { WeightRules } from '../core/types';

/** Rules are never more than this by what the page adds. */
const ADDED_MAX = 4000;

/** Gives these switches a weight, before all rules that there are. */
export async function setWeight(dpids: readonly string[], weight: number): Promise<void> {
  const { rules } = await ask<WeightRules>('api/v1/weights');
  const kept = rules.filter((rule) => !dpids.some((dpid) => names(rule.switches, dpid)));
  const mine = dpids.map((dpid) => ({ switches: dpid, weight }));
  const next = [...mine, ...kept];
  if (next.length > ADDED_MAX) throw new Error('There are more rules about weights than a page should add to: write ranges instead.');
  await ask('api/v1/weights', { method: 'PUT', body: { rules: next } });
}

/** Whether a rule names this switch and no other. */
function names(rule: string, dpid: string): boolean {
  const digits = rule.replaceAll(':', '').toLowerCase();
  if (digits === dpid) return true;
  return /^\d+$/.test(rule) && rule.length < 16 && Number(rule) === Number.parseInt(dpid, 16);
}
