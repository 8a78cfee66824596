import { MAX_TREE_FILES } from "@appdb/contract/control/project-tree";

/** Maximum members of one object or list. The longest list that a route accepts is a project's file list. */
export const MAX_MEMBERS = MAX_TREE_FILES;
/** Maximum values of a whole document. */
export const MAX_VALUES = 2_000_000;

/**
 * Describes which limit a parsed document exceeds. Undefined when it is within the limits. A schema makes an error for
 * each wrong member, which takes seconds and gigabytes for millions of them. The work grows with the number of values
 * and stops at the limits.
 */
export function findTooMany(document: unknown): string | undefined {
  const waiting: unknown[] = [document];
  let values = 0;
  for (let value = waiting.pop(); waiting.length > 0 || value !== undefined; value = waiting.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const members = Array.isArray(value) ? value.length : countMembers(value);
    if (members > MAX_MEMBERS) return `a list or object of more than ${MAX_MEMBERS} members`;
    values += members;
    if (values > MAX_VALUES) return `more than ${MAX_VALUES} values`;
    for (const member of Object.values(value)) if (typeof member === "object") waiting.push(member);
  }
  return undefined;
}

/** Stops counting as soon as the limit is exceeded. */
function countMembers(value: object): number {
  let count = 0;
  for (const _ in value) {
    count += 1;
    if (count > MAX_MEMBERS) break;
  }
  return count;
}
