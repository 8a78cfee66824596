import type { LogLine } from "@appdb/contract/routes/control-databases";
import { type RawBuilder, sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";

const PAGE = 500;

/** The last line read of a database's builds. Lines of an operation follow those of older operations. */
export interface BuildPosition {
  readonly operation_id: string;
  readonly number: number;
}

interface LineRow {
  readonly operation_id: string;
  readonly number: number;
  readonly at: Date;
  readonly level: LogLine["level"];
  readonly line: string;
}

/** The next lines of an operation, in order. Empty if there are none yet. */
export async function readOperationLines(db: ControlDatabase, operationId: string, after: number): Promise<LogLine[]> {
  const rows = await db
    .selectFrom("control.operation_lines")
    .selectAll()
    .where("operation_id", "=", operationId)
    .where("number", ">", after)
    .orderBy("number")
    .limit(PAGE)
    .execute();
  return rows.map(toLine);
}

/** The next lines of all operations of a database. */
export async function readBuildLines(
  db: ControlDatabase,
  databaseId: string,
  from: BuildPosition | undefined,
): Promise<{ readonly lines: LogLine[]; readonly last: BuildPosition | undefined }> {
  const behind =
    from === undefined
      ? sql`true`
      : sql`(l.operation_id, l.number) > (${from.operation_id}::uuid, ${from.number}::int)`;
  return toPage(await selectBuildLines(db, databaseId, sql`${behind} order by l.operation_id, l.number limit ${PAGE}`));
}

/** The last lines that are not older than the given seconds. */
export async function readLastBuildLines(
  db: ControlDatabase,
  databaseId: string,
  { since_s: sinceS, tail }: { readonly since_s: number | undefined; readonly tail: number },
): Promise<{ readonly lines: LogLine[]; readonly last: BuildPosition | undefined }> {
  const young = sinceS === undefined ? sql`true` : sql`l.at >= now() - make_interval(secs => ${sinceS}::float8)`;
  const rows = await selectBuildLines(
    db,
    databaseId,
    sql`${young} order by l.operation_id desc, l.number desc limit ${tail}`,
  );
  return toPage(rows.reverse());
}

async function selectBuildLines(
  db: ControlDatabase,
  databaseId: string,
  rest: RawBuilder<unknown>,
): Promise<LineRow[]> {
  const { rows } = await sql<LineRow>`
    select l.* from control.operation_lines l join control.operations o on o.id = l.operation_id
    where o.database_id = ${databaseId} and ${rest}`.execute(db);
  return rows;
}

function toPage(rows: readonly LineRow[]) {
  const last = rows.at(-1);
  return {
    lines: rows.map(toLine),
    last: last === undefined ? undefined : { operation_id: last.operation_id, number: last.number },
  };
}

function toLine({ at, level, line, number }: Omit<LineRow, "operation_id">): LogLine {
  return { number, at: at.toISOString(), level, line };
}
