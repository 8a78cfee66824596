import type { PlanOp, SchemaPlan, TablePlan } from "@appdb/contract/plan";
import type { HistoryEntry } from "@appdb/contract/routes/table-changes";
import { type ChangeLine, storeChanges } from "../catalog/store-changes.ts";
import type { SqlConnection } from "../ports.ts";
import { folderSchema } from "../target.ts";

/** The changes of past updates: for people, and for a caller with an outdated plan. */

const SHOWN = 5;

/** Stores the changes of an update, one line each, in its transaction. `madeBy`: the application file, if it is known. */
export async function rememberChanges(
  sql: SqlConnection,
  version: number,
  plan: SchemaPlan,
  madeBy: string | null,
): Promise<void> {
  await storeChanges(sql, version, linesOf(plan), madeBy);
}

function linesOf(plan: SchemaPlan): readonly ChangeLine[] {
  const folder = folderSchema(plan.target);
  const within = (path: string): string => {
    const name = path.slice(plan.target.length + 1);
    return folder === "public" ? name : `${folder}/${name}`;
  };
  return [
    ...plan.ops.map((op): ChangeLine => {
      const path = op.name ?? "";
      const kind = op.details.kind === "view" || op.target === "folder" ? op.target : "table";
      return { path: within(path), what: `${path}: the ${kind} ${describePast(op)}`, change: phraseOf(op) };
    }),
    ...plan.tables.flatMap(({ kind, ops, path, resolution }: TablePlan): ChangeLine[] => {
      if (resolution === "create") {
        return [{ path: within(path), what: `${path}: the table was created`, change: `create ${kind}` }];
      }
      return ops.map((op) => ({
        path: within(path),
        what: `${path}: ${subject(op)} ${describePast(op)}`,
        change: phraseOf(op),
      }));
    }),
  ];
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

/** The changes of a table, of a folder with its tables, or of all; also those under its previous paths; newest first. */
export async function listHistory(
  sql: SqlConnection,
  { before = null, is_table = false, limit, table }: HistoryQuery,
): Promise<readonly HistoryEntry[]> {
  const entries = await readHistory(sql, { before, is_table, limit, table });
  // A table of a folder that has moved came from elsewhere: the folder has none of its earlier changes.
  const moved = entries.find((entry) => entry.table === table && previousPath(entry) !== undefined);
  const previous = moved === undefined ? undefined : previousPath(moved);
  if (moved === undefined || previous === undefined) return entries;
  const own = entries.slice(0, entries.indexOf(moved) + 1);
  if (own.length === limit) return own;
  const earlier = { table: previous, is_table, limit: limit - own.length, before: moved.version };
  return [...own, ...(await listHistory(sql, earlier))];
}

interface HistoryQuery {
  /** Null for all. */
  readonly table: string | null;
  readonly limit: number;
  /** Without tables below the path: it is a table, and can be a folder as well. */
  readonly is_table?: boolean;
  /** Only changes before this version; default: all. */
  readonly before?: number | null;
}

/** The path until a change that gave it another one. */
function previousPath({ changes, table }: HistoryEntry): string | undefined {
  for (const change of changes) {
    const [, verb, from] = /^(move|rename) (?:table|view|folder) from (\S+)$/.exec(change) ?? [];
    if (from === undefined) continue;
    return verb === "move" ? from : `${table.slice(0, table.lastIndexOf("/") + 1)}${from}`;
  }
  return undefined;
}

async function readHistory(
  sql: SqlConnection,
  { before, is_table: isTable, limit, table }: Required<HistoryQuery>,
): Promise<HistoryEntry[]> {
  const { rows } = await sql.query({
    text: `select version, to_char(min(made_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), path,
        to_json(array_agg(change order by id)), min(made_by)
      from appdb.changes where path is not null
          and ($1::text is null or path = $1 or (not $4 and starts_with(path, $1 || '/')))
        and ($3::bigint is null or version < $3)
      group by version, path order by version desc, min(id) desc limit $2::int`,
    values: [table, limit, before, isTable],
  });
  return rows.map(([version, changedAt, path, changes, madeBy]) => ({
    version: Number(version),
    changed_at: changedAt ?? "",
    table: path ?? "",
    changes: JSON.parse(changes ?? "[]") as string[],
    made_by: madeBy ?? null,
  }));
}

function subject(op: PlanOp): string {
  return op.target === "table" ? "the table" : `${op.target} '${op.name ?? ""}'`;
}

function describePast(op: PlanOp): string {
  const { moved_from: movedFrom, renamed_from: previousName } = op.details;
  if (typeof movedFrom === "string") return `was moved from '${movedFrom}'`;
  if (op.op === "alter" && typeof previousName === "string") return `was renamed from '${previousName}'`;
  if (op.op === "add") return "was added";
  return op.op === "drop" ? "was dropped" : "was changed";
}

function phraseOf({ details, name, op, target }: PlanOp): string {
  const kind = target === "table" && details.kind === "view" ? "view" : target;
  const { moved_from: movedFrom, renamed_from: previousName } = details;
  if (typeof movedFrom === "string") return `move ${kind} from ${movedFrom}`;
  if (op === "alter" && typeof previousName === "string") {
    return target === "table" ? `rename ${kind} from ${previousName}` : `rename ${kind} ${previousName} to ${name}`;
  }
  const verb = op === "alter" ? "change" : op;
  if (target === "table" || target === "folder") return `${verb} ${kind}`;
  const { columns } = (details.index_ref ?? {}) as { readonly columns?: readonly string[] };
  return `${verb} ${kind} ${name ?? `over ${columns?.join(", ") ?? ""}`}`;
}
