import { createHash } from "node:crypto";
import { askedColumn } from "../kinds/parameter-list.ts";
import { transportType } from "../kinds/storage-type.ts";
import { columnText } from "../kinds/values.ts";
import type { SqlConnection } from "../ports.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { QueryLimits } from "../sql/query-limits.ts";
import { answerRows, type CompiledPlan, type QueryAnswer } from "./final-answer.ts";

export interface ManyRuns {
  readonly sql: SqlConnection;
  readonly limits: QueryLimits;
  /** Compiled for many arguments (`RowMarks`). */
  readonly plan: CompiledPlan;
  readonly versions: ReadonlyMap<number, number>;
  isCurrent(): Promise<boolean>;
}

/** Whether a plan is one statement, which can then run for many arguments at once. */
export function isBatchable({ materials, final, bound, vectors }: CompiledPlan): boolean {
  const isStatement = materials.length === 0 && final.graph === null && vectors.similarities.length === 0;
  return isStatement && bound.parameters.length > 0;
}

/**
 * Runs a query for many arguments in one statement, each as if it ran alone. Undefined when a table version has
 * changed.
 * @throws SqlError, even if only one of the arguments caused it; ResultTooLarge
 */
export async function runMany(runs: ManyRuns, all: readonly QueryArguments[]): Promise<QueryAnswer[] | undefined> {
  const { sql, limits, plan, versions } = runs;
  const { parameters } = plan.bound;
  const { placeholders } = plan.final.statement;
  const arrays = parameters.map(({ name, type }) =>
    columnText(
      type.kind,
      all.map((args) => args.get(name) ?? null),
    ),
  );
  const known = placeholders.map((placeholder) =>
    "version_of" in placeholder ? versions.get(placeholder.version_of) : undefined,
  );
  const { rows } = await sql.query({
    ...writeMany(plan),
    values: [...known, ...arrays],
    max_bytes: limits.result_bytes,
  });
  if (rows.length === 0 && !(await runs.isCurrent())) return undefined;
  const found = all.map((): (string | null)[][] => []);
  for (const row of rows) found[Number(row[0]) - 1]?.push(row.slice(1, -1));
  return found.map((own) => answerRows(plan, own));
}

/** Rows keep the query's order: they are numbered before the join with the arguments. */
function writeMany({ bound, final }: CompiledPlan): { readonly text: string; readonly name: string } {
  const { text, placeholders } = final.statement;
  const types = bound.parameters.map(({ type }, at) => `$${placeholders.length + at + 1}::${transportType(type)}[]`);
  const columns = bound.parameters.map(({ name }) => askedColumn(name).slice("asked.".length));
  const many = [
    'select asked."row", found.*',
    `from unnest(${types.join(", ")}) with ordinality as asked(${[...columns, '"row"'].join(", ")})`,
    'cross join lateral (select one.*, row_number() over () as "#place" from (',
    text,
    ") as one) as found",
    'order by asked."row", found."#place"',
  ].join("\n");
  return { text: many, name: createHash("sha256").update(many).digest("hex").slice(0, 32) };
}
