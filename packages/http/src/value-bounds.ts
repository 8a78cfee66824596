import { MAX_TREE_FILES } from "@appdb/contract/control/project-tree";

/** Members of one object or list. The longest list that a route takes is that of a project's files. */
export const MAX_MEMBERS = MAX_TREE_FILES;
/** Values of a document together. */
export const MAX_VALUES = 2_000_000;

/**
 * Says what a parsed document has too much of; undefined when it is within the bounds. A schema makes an error for each wrong member, which takes
 * seconds and gigabytes for millions of them. Work grows with the number of values, and ends at the bounds.
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

/** Counts no more than it needs to know that there are too many. */
function countMembers(value: object): number {
  let count = 0;
  for (const _ in value) {
    count += 1;
    if (count > MAX_MEMBERS) break;
  }
  return count;
}
