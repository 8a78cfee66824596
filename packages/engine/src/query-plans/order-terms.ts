import type { ColumnType } from "@appdb/contract/types";

/** What rows are sorted by: SQL of the value, and the type as which it can be sent back. */
export interface OrderTerm {
  readonly sql: string;
  readonly asc: boolean;
  readonly type: ColumnType;
  /** Of a term that stands before the one it is made of, because an index holds it: how it is made. */
  readonly hint?: (sql: string) => string;
}

/** The terms without hints: what the place of a row is told by. */
export function positionTerms(terms: readonly OrderTerm[]): readonly OrderTerm[] {
  return terms.filter(({ hint }) => hint === undefined);
}

/** Null is the largest value, in both directions. */
export function orderLines(terms: readonly OrderTerm[]): string[] {
  if (terms.length === 0) return [];
  return [
    `order by ${terms.map(({ sql, asc }) => `${sql} ${asc ? "asc nulls last" : "desc nulls first"}`).join(", ")}`,
  ];
}

export function reversed(terms: readonly OrderTerm[]): OrderTerm[] {
  return terms.map((term) => ({ ...term, asc: !term.asc }));
}

/**
 * Conditions that hold of the rows behind a given one. `nulls` says which of its sort values are null; `value` gives SQL of
 * the others. The first condition says of the first sort value what the second one implies, in a form that an index serves.
 */
export function pageConditions(
  terms: readonly OrderTerm[],
  nulls: readonly boolean[],
  value: (at: number, type: ColumnType) => string,
): string[] {
  const steps = positionTerms(terms).map(({ sql, asc, type }, at) => {
    if (nulls[at]) return { equal: `${sql} is null`, behind: asc ? "false" : `${sql} is not null` };
    const given = value(at, type);
    return {
      equal: `${sql} = ${given}`,
      // PostgreSQL leaves the second part out where the column cannot be null.
      behind: asc ? `(${sql} > ${given} or ${sql} is null)` : `${sql} < ${given}`,
    };
  });
  const [first] = steps;
  if (first === undefined) return ["false"];
  let exact = "";
  for (const { equal, behind } of steps.toReversed()) {
    exact = exact === "" ? behind : `(${behind} or (${equal} and ${exact}))`;
  }
  const leading = steps.length === 1 ? [exact] : [`(${first.behind} or ${first.equal})`, exact];
  const hinted = terms[0];
  if (hinted?.hint === undefined || nulls[0]) return leading;
  const given = hinted.hint(value(0, hinted.type));
  const { sql, asc } = hinted;
  return [asc ? `(${sql} >= ${given} or ${sql} is null)` : `${sql} <= ${given}`, ...leading];
}
