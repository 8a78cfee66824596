import type { SqlConnection, SqlTransaction, Statement } from "../ports.ts";
import type { ResultMessages } from "./result-messages.ts";
import type { RowsWriter } from "./rows-format.ts";
import type { WorkClock } from "./work-clock.ts";
import { SlowReader } from "./yield-to-changes.ts";

/** Bytes of the first message, which shows a caller that rows arrive, and of the others. */
const FIRST_BYTES = 16 * 1024;
export const MESSAGE_BYTES = 512 * 1024;

interface RowStream {
  readonly clock: WorkClock;
  readonly result: ResultMessages;
  readonly writer: RowsWriter;
  /** Default: that of the writer. */
  readonly take_row?: RowsWriter["take_row"];
  /** Further rows are only counted. Returns how many they were. */
  readonly limit?: number | undefined;
  /** Another connection, which sees whether a change of the schema waits for this one. */
  readonly watch: SqlConnection;
}

/**
 * Sends the rows of a statement as they arrive: nothing more is read from PostgreSQL while the client does not take
 * what was sent. Returns how many rows exceeded the limit.
 * @throws schema_changed when a change of the schema waits for a read whose client is slow; errors of the statement and of `send`
 */
export async function streamRows(
  connection: SqlTransaction,
  statement: Pick<Statement, "text" | "values" | "name" | "is_binary">,
  { clock, limit = Number.POSITIVE_INFINITY, result, take_row: take, watch, writer }: RowStream,
): Promise<number> {
  const takeRow = take ?? writer.take_row;
  const reader = new SlowReader(watch, connection.process);
  let beyond = 0;
  let failed: { readonly error: unknown } | undefined;
  const pause = (): Promise<void> | undefined => {
    if (clock.is_paused || failed !== undefined) return undefined;
    if (writer.bytes < (result.is_started ? MESSAGE_BYTES : FIRST_BYTES)) return undefined;
    return clock.pause(reader.wait(result.flush())).catch((error: unknown) => {
      failed = { error };
      clock.stop();
    });
  };
  const options = {
    take_row: (bytes: Buffer, start: number, end: number) => {
      if (result.count === limit) beyond += 1;
      else {
        result.count += 1;
        takeRow(bytes, start, end);
      }
    },
    pause,
    signal: clock.signal,
  };
  await clock
    .measure(() => connection.query({ ...statement, ...options }))
    .catch((error: unknown) => {
      throw failed === undefined ? error : failed.error;
    });
  if (failed !== undefined) throw failed.error;
  return beyond;
}
