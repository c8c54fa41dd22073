// The key of this tab, and what its role may do: said beforehand, instead of refused afterwards.

import { needsKey } from './api';
import { useResource, resource } from './poll';

export type Role = 'read' | 'write' | 'admin';

interface Me {
  role: Role;
  name?: string | null;
  kind?: 'token' | 'user' | null;
  expires?: string | null;
}

const ROLES: readonly Role[] = ['read', 'write', 'admin'];

export const me = resource<Me>('api/v1/me', 30_000);

needsKey.follow(() => {
  if (needsKey.value === null) void me.now();
});

/** Why the key of this tab may not do what needs a role; null where it may, or where that is not known yet. */
export function useLacks(needs: Role | undefined): string | null {
  const mine = useResource(me).data?.role;
  if (needs === undefined || mine === undefined || ROLES.indexOf(mine) >= ROLES.indexOf(needs)) return null;
  return `This needs the role ${needs}; your key has the role ${mine}.`;
}
