import { ResultTooLarge, SqlError, type SqlResult, type Statement } from "@appdb/engine/ports";
import { type ClientBase, Query, type QueryResult } from "pg";
import { statementError } from "./pg-errors.ts";
import type { RawRowReader } from "./raw-row-reader.ts";

type TextRow = (string | null)[];

/** Runs a statement to its end. @throws SqlError, commit_unknown */
export async function runStatement(client: ClientBase, statement: Statement): Promise<SqlResult> {
  try {
    const result = await client.query<TextRow, unknown[]>(configOf(statement));
    return resultOf(result.rows, result, statement);
  } catch (error) {
    throw statementError(error);
  }
}

type EndedResult = Pick<QueryResult, "rowCount" | "fields">;

function resultOf(rows: TextRow[], { fields, rowCount }: EndedResult, { describes }: Statement): SqlResult {
  const found = { rows, row_count: rowCount ?? 0 };
  if (describes !== true) return found;
  return Object.assign(found, { fields: fields.map(({ dataTypeID: oid, name }) => ({ name, type_oid: oid })) });
}

/**
 * Runs a statement with limits: its result may be too large, its rows are read as bytes, or its caller may leave. Rows
 * beyond `max_bytes` are dropped as they arrive. `cancel` asks PostgreSQL to stop, and the call returns only after
 * that. Its signal aborts when the statement has ended.
 * @throws ResultTooLarge; SqlError, 57014 when it was cancelled; commit_unknown; what `take_row` throws
 */
export async function runBounded(
  client: ClientBase,
  reader: RawRowReader,
  statement: Statement,
  cancel: (ended: AbortSignal) => Promise<void>,
): Promise<SqlResult> {
  const max = statement.max_bytes ?? Number.POSITIVE_INFINITY;
  const { pause, signal, take_row: takeRow } = statement;
  // PostgreSQL could get the cancel before the statement, and ignore it
  if (signal?.aborted) throw new SqlError("the statement was cancelled before it was sent", { sqlstate: "57014" });
  const rows: TextRow[] = [];
  let bytes = 0;
  let fitting: number | undefined;
  let cancelling: Promise<void> | undefined;
  const over = new AbortController();
  let thrown: { readonly error: unknown } | undefined;
  const stop = () => {
    cancelling ??= cancel(over.signal);
  };
  if (takeRow !== undefined) {
    reader.take = (row, start, end) => {
      bytes += end - start;
      if (bytes > max) stop();
      else if (thrown === undefined) {
        // the stream calls this, where no one could catch
        try {
          takeRow(row, start, end);
        } catch (error) {
          thrown = { error };
          stop();
        }
      }
    };
  }
  reader.pause = pause;
  try {
    signal?.addEventListener("abort", stop, { once: true });
    const ended = await new Promise<EndedResult>((resolve, reject) => {
      const query = new Query<TextRow, unknown[]>(configOf(statement));
      if (takeRow !== undefined) {
        const submit = query.submit.bind(query);
        query.submit = (connection) => submit(reader.withoutDescribe(connection));
      }
      query.on("row", (row) => {
        if (bytes > max) return;
        for (const value of row) bytes += value === null ? 0 : value.length;
        if (bytes <= max) rows.push(row);
        else {
          fitting = rows.length;
          rows.length = 0;
          stop();
        }
      });
      query.on("end", resolve);
      query.on("error", reject);
      client.query(query);
    });
    reader.notePrepared(statement);
    if (bytes > max) throw new ResultTooLarge(max, fitting);
    if (thrown !== undefined) throw thrown.error;
    return resultOf(rows, ended, statement);
  } catch (error) {
    if (thrown !== undefined) throw thrown.error;
    throw bytes > max ? new ResultTooLarge(max, fitting) : statementError(error);
  } finally {
    over.abort();
    reader.take = undefined;
    reader.pause = undefined;
    signal?.removeEventListener("abort", stop);
    await cancelling;
  }
}

function configOf({ is_binary: isBinary, text, values, name }: Statement) {
  return {
    text,
    rowMode: "array" as const,
    ...(values === undefined ? {} : { values: [...values] }),
    ...(name === undefined ? {} : { name }),
    ...(isBinary === true ? { binary: true } : {}),
  };
}
