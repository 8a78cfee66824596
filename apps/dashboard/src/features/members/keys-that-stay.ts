import type { Key } from "@appdb/contract/routes/control";

/** Names of the keys that a person made and that do not act as them: these stay good when the person is removed. */
export function keysThatStay(keys: readonly Pick<Key, "name" | "grants" | "created_by">[], email: string): string[] {
  return keys
    .filter(({ created_by: createdBy, grants }) => createdBy === email && grants.length > 0)
    .map(({ name }) => name);
}
