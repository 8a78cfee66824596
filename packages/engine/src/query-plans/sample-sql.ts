import type { Relation } from "./relation.ts";

/** A seed that all statements of a transaction share, and that is new for the next one. */
export const OF_TRANSACTION = "(extract(epoch from transaction_timestamp()) * 1000000)::bigint";

/** A number from 0 to 1 for a row: fixed for one seed, new each time without one. */
export function drawSql(relation: Relation, seed: number | string | null): string {
  if (seed === null) return "random()";
  const identity = relation.identities.map((sql) => `${sql}::text`).join(", ");
  return `((hashtextextended(concat_ws(',', ${identity}), ${seed}) & 9223372036854775807)::float8 / 9223372036854775808)`;
}
