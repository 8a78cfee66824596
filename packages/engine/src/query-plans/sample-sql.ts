import { quoteIdent } from "../sql/quote.ts";
import type { Relation } from "./relation.ts";

/** A seed that all statements of a transaction share, and that is new for the next one. */
export const OF_TRANSACTION = "(extract(epoch from transaction_timestamp()) * 1000000)::bigint";

/** A number from 0 to 1 for a row: fixed for one seed, new each time without one. */
export function drawSql(relation: Relation, seed: number | string | null): string {
  if (seed === null) return "random()";
  const identity = relation.identities.map((sql) => `${sql}::text`).join(", ");
  return `((hashtextextended(concat_ws(',', ${identity}), ${seed}) & 9223372036854775807)::float8 / 9223372036854775808)`;
}

/** `n` rows of a relation, the first ones by `draw`, with the values of `names`. */
export function sampleRows(relation: Relation, names: readonly string[], draw: string, n: number | null): Relation {
  const columnRefs = new Map(names.map((name, at) => [name, `sampled.${quoteIdent(`s${at}`)}`]));
  const values = [
    ...names.map((name, at) => `${relation.column(name)} as ${quoteIdent(`s${at}`)}`),
    ...relation.identities.map((sql, at) => `${sql} as ${quoteIdent(`i${at}`)}`),
  ];
  const lines = [
    `(select ${values.join(", ") || "1"} from ${relation.from}`,
    ...(relation.where.length === 0 ? [] : [`where ${relation.where.join("\n  and ")}`]),
    `order by ${draw} limit ${n}) as sampled`,
  ];
  return {
    from: lines.join("\n"),
    where: [],
    identities: relation.identities.map((_sql, at) => `sampled.${quoteIdent(`i${at}`)}`),
    column: (name) => columnRefs.get(name),
  };
}
