import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import type { SqlConnection } from "../ports.ts";

/** What updates changed, kept so that whoever planned against an earlier version can be told what moved. */

/** Versions that are remembered; a plan is applied minutes after it was made, or never. */
const KEPT = 1_000;
const SHOWN = 5;

/** Writes down what an update changed, one line each, in its transaction. */
export async function rememberChanges(sql: SqlConnection, version: number, plan: SchemaPlan): Promise<void> {
  const changes = [
    ...plan.ops.map((op) => `${op.name}: the table ${past(op)}`),
    ...plan.tables.flatMap((table) => {
      if (table.resolution === "create") return [`${table.path}: the table was made`];
      return table.ops.map((op) => `${table.path}: ${subject(op)} ${past(op)}`);
    }),
  ];
  await sql.query({
    text: `insert into appdb.changes (version, what)
      select $1::bigint, t.what from unnest($2::text[]) with ordinality as t(what, at) order by t.at`,
    values: [version, changes],
  });
  await sql.query({ text: "delete from appdb.changes where version <= $1::bigint", values: [version - KEPT] });
}

/** What changed after a version, as a sentence. */
export async function tellChangesSince(sql: SqlConnection, version: number): Promise<string> {
  const { rows } = await sql.query({
    text: "select what, count(*) over () from appdb.changes where version > $1::bigint order by version, id limit $2::int",
    values: [version, SHOWN],
  });
  // A job counts a version too, when a column that it filled is seen from then on.
  if (rows.length === 0) return "Work that an earlier update had begun has ended.";
  const more = Number(rows[0]?.[1]) - rows.length;
  return `${rows.map(([what]) => what).join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}

function subject(op: PlanOp): string {
  return op.target === "table" ? "the table" : `${op.target} '${op.name ?? ""}'`;
}

function past(op: PlanOp): string {
  const former = op.details.renamed_from;
  if (op.op === "alter" && typeof former === "string") return `was renamed from '${former}'`;
  if (op.op === "add") return "was added";
  return op.op === "drop" ? "was dropped" : "was changed";
}
