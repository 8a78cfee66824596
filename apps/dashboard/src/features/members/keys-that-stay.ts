import type { Key } from "@appdb/contract/routes/control";

/** Names of keys that a person created and that have their own grants. They stay valid when the person is removed. */
export function keysThatStay(keys: readonly Pick<Key, "name" | "grants" | "created_by">[], email: string): string[] {
  return keys
    .filter(({ created_by: createdBy, grants }) => createdBy === email && grants.length > 0)
    .map(({ name }) => name);
}
