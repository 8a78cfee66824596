import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import type { SqlConnection } from "../ports.ts";

/** The changes of past updates. A caller with an outdated plan gets the changes since then. */

/** Maximum number of remembered versions. A plan is applied minutes after it was made, or never. */
const KEPT = 1_000;
const SHOWN = 5;

/** Stores the changes of an update, one line each, in its transaction. */
export async function rememberChanges(sql: SqlConnection, version: number, plan: SchemaPlan): Promise<void> {
  const changes = [
    ...plan.ops.map((op) => `${op.name}: the table ${describePast(op)}`),
    ...plan.tables.flatMap((table) => {
      if (table.resolution === "create") return [`${table.path}: the table was created`];
      return table.ops.map((op) => `${table.path}: ${subject(op)} ${describePast(op)}`);
    }),
  ];
  await sql.query({
    text: `insert into appdb.changes (version, what)
      select $1::bigint, t.what from unnest($2::text[]) with ordinality as t(what, at) order by t.at`,
    values: [version, changes],
  });
  await sql.query({ text: "delete from appdb.changes where version <= $1::bigint", values: [version - KEPT] });
}

/** The changes after a version, as a sentence. */
export async function describeChangesSince(sql: SqlConnection, version: number): Promise<string> {
  const { rows } = await sql.query({
    text: "select what, count(*) over () from appdb.changes where version > $1::bigint order by version, id limit $2::int",
    values: [version, SHOWN],
  });
  // A job also increments the version, when its filled column becomes visible.
  if (rows.length === 0) return "A job of an earlier update has ended.";
  const more = Number(rows[0]?.[1]) - rows.length;
  return `${rows.map(([what]) => what).join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}

function subject(op: PlanOp): string {
  return op.target === "table" ? "the table" : `${op.target} '${op.name ?? ""}'`;
}

function describePast(op: PlanOp): string {
  const previousName = op.details.renamed_from;
  if (op.op === "alter" && typeof previousName === "string") return `was renamed from '${previousName}'`;
  if (op.op === "add") return "was added";
  return op.op === "drop" ? "was dropped" : "was changed";
}
