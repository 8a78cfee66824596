import type { LogLine } from "@appdb/contract/routes/control-databases";
import { sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";

/** Maximum lines of one operation, because a builder may loop. */
const MAX_LINES = 10_000;
/** Of the lines above the maximum, the last ones are kept: errors come last. */
const LAST_LINES = 200;
const MAX_CHARACTERS = 2_000;
/** Maximum for all operations of an organization. The oldest lose their lines first. */
export const MAX_LINE_BYTES = 256 * 1024 ** 2;
/** Size of a row without its text. */
const ROW_BYTES = 100;
const BATCH = 500;
const PAUSE_MS = 100;

export interface OperationLines extends AsyncDisposable {
  add(level: LogLine["level"], line: string): void;
}

type Line = Pick<LogLine, "level" | "line"> & { readonly at: Date };

/**
 * Stores the lines of an operation in batches and notifies readers. Lines of an earlier attempt stay in front. Without
 * an operation, nothing is stored.
 */
export async function openOperationLines(
  { db, log }: Pick<ReconcileDeps, "db" | "log">,
  operationId: string | undefined,
): Promise<OperationLines> {
  if (operationId === undefined) return { add: () => undefined, [Symbol.asyncDispose]: async () => undefined };
  await forgetOldLines(db, operationId);
  let number = await lastNumber(db, operationId);
  let waiting: Line[] = [];
  const late: Line[] = [];
  let omittedCount = 0;
  let writing = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const write = () => {
    timer = undefined;
    const lines = waiting.map((line) => ({ ...line, operation_id: operationId, number: ++number }));
    waiting = [];
    writing = writing
      .then(() => insert(db, lines))
      .catch((error) => log.warn({ err: error, op: operationId }, "could not store lines of an operation"));
  };
  return {
    add(level, text) {
      const line: Line = { level, line: clean(text), at: new Date() };
      if (number + waiting.length >= MAX_LINES) {
        late.push(line);
        if (late.length > LAST_LINES && late.shift() !== undefined) omittedCount += 1;
        return;
      }
      waiting.push(line);
      timer ??= setTimeout(write, PAUSE_MS);
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      if (omittedCount > 0)
        waiting.push({ level: "warn", line: `(${omittedCount} lines are left out here)`, at: new Date() });
      waiting.push(...late);
      if (waiting.length > 0) write();
      await writing;
    },
  };
}

async function lastNumber(db: ControlDatabase, operationId: string): Promise<number> {
  const row = await db
    .selectFrom("control.operation_lines")
    .select(({ fn }) => fn.max("number").as("last"))
    .where("operation_id", "=", operationId)
    .executeTakeFirst();
  return row?.last ?? 0;
}

async function insert(db: ControlDatabase, lines: (Line & { operation_id: string; number: number })[]): Promise<void> {
  for (let at = 0; at < lines.length; at += BATCH) {
    const batch = lines.slice(at, at + BATCH);
    const bytes = batch.reduce((sum, { line }) => sum + Buffer.byteLength(line) + ROW_BYTES, 0);
    await db.transaction().execute(async (tx) => {
      await tx.insertInto("control.operation_lines").values(batch).execute();
      await sql`update control.operations set line_bytes = line_bytes + ${bytes} where id = ${batch[0]?.operation_id}`.execute(
        tx,
      );
    });
  }
}

/** Removes the lines of an organization's oldest operations while all its lines exceed the maximum. */
export async function forgetOldLines(
  db: ControlDatabase,
  operationId: string,
  maxBytes: number = MAX_LINE_BYTES,
): Promise<void> {
  await sql`with said as (
      select id, ended_at, sum(line_bytes) over (order by id desc) as bytes from control.operations
      where line_bytes > 0 and org_id = (select org_id from control.operations where id = ${operationId})),
    old as (select id from said where bytes > ${maxBytes} and ended_at is not null and id <> ${operationId}),
    gone as (delete from control.operation_lines where operation_id in (select id from old))
    update control.operations set line_bytes = 0 where id in (select id from old)`.execute(db);
}

/** Removes NUL, which PostgreSQL's texts cannot hold, and terminal escapes. */
function clean(text: string): string {
  return text
    .replaceAll(/\p{Cc}\[[0-9;]*[A-Za-z]|[^\P{Cc}\t]/gu, "")
    .slice(0, MAX_CHARACTERS)
    .toWellFormed();
}
