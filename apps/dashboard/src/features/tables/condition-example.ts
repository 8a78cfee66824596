import type { DataTable } from "@appdb/contract/routes/data-api";

const TESTS: readonly (readonly [type: RegExp, test: string])[] = [
  [/^String\b/, "like 'a%'"],
  [/^(Int|Float)\b/, "> 0"],
  [/^Bool\b/, "= true"],
  [/^(Timestamp|Date)\b/, ">= '2026-01-31'"],
];

/** A condition over the first columns of a table: `title like 'a%' and score > 0`. */
export function conditionExample({ columns }: DataTable): string {
  const tests = columns
    .filter((column) => !column.is_key)
    .flatMap(({ name, type }) => {
      const test = TESTS.find(([of]) => of.test(type))?.[1];
      return test === undefined ? [] : [`${quoted(name)} ${test}`];
    });
  return tests.slice(0, 2).join(" and ") || "true";
}

function quoted(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `"${name}"`;
}
