import { ResultTooLarge, type SqlResult, type Statement } from "@appdb/engine/ports";
import { type ClientBase, Query } from "pg";
import { statementError } from "./pg-errors.ts";
import type { RawRowReader } from "./raw-row-reader.ts";

type TextRow = (string | null)[];

/** Runs a statement to its end. @throws SqlError, commit_unknown */
export async function runStatement(client: ClientBase, statement: Statement): Promise<SqlResult> {
  try {
    const result = await client.query<TextRow, unknown[]>(configOf(statement));
    return { rows: result.rows, row_count: result.rowCount ?? 0 };
  } catch (error) {
    throw statementError(error);
  }
}

/**
 * Runs a statement with limits: its result may be too large, its rows are read as bytes, or its caller may leave. Rows
 * beyond `max_bytes` are dropped as they arrive. `cancel` asks PostgreSQL to stop, and the call returns only after
 * that.
 * @throws ResultTooLarge; SqlError, 57014 when it was cancelled; commit_unknown; what `take_row` throws
 */
export async function runBounded(
  client: ClientBase,
  reader: RawRowReader,
  statement: Statement,
  cancel: () => Promise<void>,
): Promise<SqlResult> {
  const max = statement.max_bytes ?? Number.POSITIVE_INFINITY;
  const { pause, signal, take_row: takeRow } = statement;
  const rows: TextRow[] = [];
  let bytes = 0;
  let cancelling: Promise<void> | undefined;
  let thrown: { readonly error: unknown } | undefined;
  const stop = () => {
    cancelling ??= cancel();
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
    if (signal?.aborted) stop();
    const rowCount = await new Promise<number>((resolve, reject) => {
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
          rows.length = 0;
          stop();
        }
      });
      query.on("end", (result) => resolve(result.rowCount ?? 0));
      query.on("error", reject);
      client.query(query);
    });
    reader.notePrepared(statement);
    if (bytes > max) throw new ResultTooLarge(max);
    if (thrown !== undefined) throw thrown.error;
    return { rows, row_count: rowCount };
  } catch (error) {
    if (thrown !== undefined) throw thrown.error;
    throw bytes > max ? new ResultTooLarge(max) : statementError(error);
  } finally {
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
