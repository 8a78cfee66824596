import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ClientBase } from "pg";
import { from } from "pg-copy-streams";
import { statementError } from "./pg-errors.ts";

/**
 * Runs `COPY ... FROM STDIN` and returns the number of rows. An error of the row source ends the statement and is
 * passed on.
 * @throws SqlError, commit_unknown
 */
export async function copyRows(
  client: ClientBase,
  text: string,
  rows: Iterable<string> | AsyncIterable<string>,
): Promise<number> {
  const stream = client.query(from(text));
  const source = { failed: false, error: undefined as unknown };
  try {
    await pipeline(Readable.from(captureErrors(rows, source), { objectMode: true, highWaterMark: 1 }), stream);
    return stream.rowCount;
  } catch (error) {
    throw source.failed ? source.error : statementError(error);
  }
}

async function* captureErrors(
  rows: Iterable<string> | AsyncIterable<string>,
  source: { failed: boolean; error: unknown },
): AsyncGenerator<Buffer> {
  try {
    for await (const text of rows) yield Buffer.from(text, "utf8");
  } catch (error) {
    source.failed = true;
    source.error = error;
    throw error;
  }
}
