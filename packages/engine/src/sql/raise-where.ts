/**
 * SQL that raises class 22 if `isRefused` holds, and is otherwise `sql`. `seed` is an int of all the arguments that
 * `isRefused` reads, not null where that holds. A raising constant would be evaluated when the statement is planned
 * (`planning.db.test.ts`).
 */
export function raiseWhere(isRefused: string, seed: string, type: string, sql: string): string {
  return `CASE WHEN ${isRefused} THEN (1 / ((${seed}) * 0))::text::${type} ELSE ${sql} END`;
}
