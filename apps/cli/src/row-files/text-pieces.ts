import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Context } from "../context.ts";

const PIECE_BYTES = 256 * 1024;
/** Byte order marks of other encodings. */
const MARKS: ReadonlyMap<string, string> = new Map([
  ["feff", "utf-16be"],
  ["fffe", "utf-16le"],
]);
const MARK_BYTES = 2;
const PARQUET = "PAR1";

/** The text of a file, or of the input (`-`), piece by piece: UTF-8, or UTF-16 with a byte order mark. @throws usage */
export async function* textPieces(
  ctx: Pick<Context, "cwd" | "streamInput">,
  typed: string,
): AsyncGenerator<string, void> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let encoding = "";
  let head = Buffer.alloc(0);
  const decode = (bytes: Uint8Array, isLast: boolean) => {
    try {
      return decoder?.decode(bytes, { stream: !isLast }) ?? "";
    } catch (cause) {
      throw appError("usage", {
        detail: `${typed === "-" ? "The input" : typed} is not ${encoding.toUpperCase()}.`,
        hint: "Save it as UTF-8.",
        cause,
      });
    }
  };
  const begin = () => {
    if (head.subarray(0, PARQUET.length).toString("latin1") === PARQUET) throw parquetAsText(typed);
    encoding = MARKS.get(head.subarray(0, MARK_BYTES).toString("hex")) ?? "utf-8";
    decoder = new TextDecoder(encoding, { fatal: true });
    return decode(head, false);
  };
  for await (const bytes of bytesOf(ctx, typed)) {
    if (decoder !== undefined) {
      yield decode(bytes, false);
      continue;
    }
    head = Buffer.concat([head, bytes]);
    if (head.length >= PARQUET.length) yield begin();
  }
  if (decoder === undefined) yield begin();
  yield decode(new Uint8Array(), true);
}

async function* bytesOf({ cwd, streamInput }: Pick<Context, "cwd" | "streamInput">, typed: string) {
  if (typed === "-") {
    if (streamInput === undefined) {
      throw appError("usage", {
        detail: "Nothing is piped in.",
        hint: "Pipe the rows in: cat rows.jsonl | cli insert main/docs -",
      });
    }
    yield* streamInput();
    return;
  }
  const stream = createReadStream(resolve(cwd, typed), { highWaterMark: PIECE_BYTES });
  try {
    for await (const piece of stream) yield piece as Uint8Array;
  } catch (cause) {
    throw unreadable(typed, cause);
  }
}

/** The error of a file that the system does not read. */
export function unreadable(typed: string, cause: unknown): Error {
  return appError("usage", {
    detail: `The file ${typed} cannot be read: ${cause instanceof Error ? cause.message : cause}.`,
    hint: "Use a file that you can read.",
    cause,
  });
}

function parquetAsText(typed: string): Error {
  if (typed !== "-") {
    return appError("usage", { detail: `${typed} is a Parquet file.`, hint: "Name it with the ending .parquet." });
  }
  return appError("usage", {
    detail: "The input is a Parquet file, whose index is at its end.",
    hint: "Save it first: cli insert main/docs rows.parquet",
  });
}
