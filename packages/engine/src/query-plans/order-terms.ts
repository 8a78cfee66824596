import type { ColumnType } from "@appdb/contract/types";

/** A sort key: SQL of the value, and its type for sending it back. */
export interface OrderTerm {
  readonly sql: string;
  readonly asc: boolean;
  readonly type: ColumnType;
  /** For a term that repeats a later one in its indexed form: the derivation. */
  readonly hint?: (sql: string) => string;
}

/** The terms without hints; they define the position of a row. */
export function positionTerms(terms: readonly OrderTerm[]): readonly OrderTerm[] {
  return terms.filter(({ hint }) => hint === undefined);
}

/** Null sorts as the largest value, in both directions. */
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
 * Conditions for the rows after a given one. `nulls` tells which of its sort values are null; `value` returns SQL of
 * the others. The first condition is implied by the second, in a form that an index supports.
 */
export function pageConditions(
  terms: readonly OrderTerm[],
  nulls: readonly boolean[],
  value: (at: number, type: ColumnType) => string,
): string[] {
  const steps = positionTerms(terms).map(({ sql, asc, type }, at) => {
    if (nulls[at]) return { equal: `${sql} is null`, behind: asc ? "false" : `${sql} is not null` };
    const bound = value(at, type);
    return {
      equal: `${sql} = ${bound}`,
      // PostgreSQL removes the second part if the column cannot be null.
      behind: asc ? `(${sql} > ${bound} or ${sql} is null)` : `${sql} < ${bound}`,
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
  const bound = hinted.hint(value(0, hinted.type));
  const { sql, asc } = hinted;
  return [asc ? `(${sql} >= ${bound} or ${sql} is null)` : `${sql} <= ${bound}`, ...leading];
}
