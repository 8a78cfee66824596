import { type ExactJson, isArray, parseExact } from "@appdb/contract/clients/exact-json";
import { appError, fromProblem, parseProblem } from "@appdb/contract/errors";
import type { ResultColumn } from "@appdb/contract/routes/data-queries";

/** What takes the messages of a result (contract, data-queries.ts). */
export interface ResultReader {
  columns(columns: readonly ResultColumn[]): void | Promise<void>;
  /** `text`: the rows as JSON, joined by commas. */
  rows(text: string): void | Promise<void>;
}

export interface ResultEnd {
  readonly count: number;
  readonly has_more: boolean;
}

const ROWS = '{"rows":[';
const ROWS_END = "]}";

/**
 * Reads a result in NDJSON, a message at a time. Rows stay text: numbers may be larger than those of JavaScript.
 * @throws the error that ended the result; server_failed for one that was cut off; interrupted
 */
export async function readResult(
  pieces: AsyncIterable<Uint8Array>,
  reader: ResultReader,
  signal: AbortSignal,
): Promise<ResultEnd> {
  for await (const line of linesOf(pieces, signal)) {
    if (line.startsWith(ROWS)) {
      await reader.rows(line.slice(ROWS.length, line.length - ROWS_END.length));
      continue;
    }
    const message: Readonly<Record<string, unknown>> = JSON.parse(line);
    const problem = message.error === undefined ? undefined : parseProblem(JSON.stringify(message.error));
    if (problem !== undefined) throw fromProblem(problem);
    if (message.columns !== undefined) await reader.columns(message.columns as readonly ResultColumn[]);
    else if (message.done !== undefined) return message.done as ResultEnd;
  }
  throw cutOff();
}

/** The cells of rows in that text. */
export function cellsOf(text: string): readonly (readonly ExactJson[])[] {
  const rows = parseExact(`[${text}]`);
  return isArray(rows) ? rows.filter(isArray) : [];
}

async function* linesOf(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const piece of pieces) {
      rest += decoder.decode(piece, { stream: true });
      const end = rest.lastIndexOf("\n");
      if (end < 0) continue;
      const whole = rest.slice(0, end);
      rest = rest.slice(end + 1);
      yield* whole.split("\n");
    }
  } catch (cause) {
    if (signal.aborted) throw appError("interrupted", { detail: "The statement was cancelled.", cause });
    throw cutOff(cause);
  }
}

function cutOff(cause?: unknown): Error {
  return appError("server_failed", {
    detail: "The result was cut off before its end.",
    hint: "Run the statement again.",
    cause,
  });
}
