import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Context } from "../context.ts";
import { MARKS } from "./row-formats.ts";

const PIECE_BYTES = 256 * 1024;
/** Byte order marks of other encodings. */
const ENCODINGS: ReadonlyMap<string, string> = new Map([
  ["feff", "utf-16be"],
  ["fffe", "utf-16le"],
]);
const MARK_BYTES = 2;
/** Bytes of the longest character of UTF-8 but one. */
const LONGEST = 3;
const MARK_LENGTH = 4;

/**
 * The text of a file, or of the input (`-`), piece by piece: UTF-8, or UTF-16 with a byte order mark. `isFile`: false
 * for the input, a pipe or a device, which are read once from their beginning. @throws usage
 */
export async function* textPieces(
  ctx: Pick<Context, "cwd" | "streamInput">,
  typed: string,
  isFile: boolean,
): AsyncGenerator<string, void> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let encoding = "";
  let head = Buffer.alloc(0);
  let line = 1;
  let before = Buffer.alloc(0);
  const decode = (bytes: Uint8Array, isLast: boolean) => {
    try {
      const text = decoder?.decode(bytes, { stream: !isLast }) ?? "";
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) line += 1;
      before = Buffer.from(bytes.subarray(-LONGEST));
      return text;
    } catch (cause) {
      const wrong = line + linesBefore(Buffer.concat([wholeEnd(before), bytes]), encoding);
      throw appError("invalid_request", {
        detail: `${nameOf(typed)} is not ${encoding.slice(0, 6).toUpperCase()}, at line ${wrong}. Nothing was inserted.`,
        hint: "Save it as UTF-8.",
        cause,
      });
    }
  };
  const begin = () => {
    const mark = head.subarray(0, MARK_LENGTH).toString("latin1");
    if (mark === MARKS.parquet) throw parquetAsText(typed, isFile);
    if (mark === MARKS.workbook) throw workbook(typed);
    if (mark.startsWith(MARKS.gzip)) throw packed(typed);
    encoding = ENCODINGS.get(head.subarray(0, MARK_BYTES).toString("hex")) ?? "utf-8";
    decoder = new TextDecoder(encoding, { fatal: true });
    return decode(head, false);
  };
  for await (const bytes of bytesOf(ctx, typed)) {
    if (decoder !== undefined) {
      yield decode(bytes, false);
      continue;
    }
    head = Buffer.concat([head, bytes]);
    if (head.length >= MARK_LENGTH) yield begin();
  }
  if (decoder === undefined) yield begin();
  yield decode(new Uint8Array(), true);
}

/** The last bytes of a text from the beginning of a character. */
function wholeEnd(bytes: Buffer): Buffer {
  const at = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return at < 0 ? Buffer.alloc(0) : bytes.subarray(at);
}

/** Line feeds before the first byte that is not text. */
function linesBefore(bytes: Buffer, encoding: string): number {
  if (encoding !== "utf-8")
    return new TextDecoder(encoding).decode(bytes).split("\uFFFD", 1)[0]?.match(/\n/g)?.length ?? 0;
  const strict = new TextDecoder(encoding, { fatal: true });
  let lines = 0;
  for (let at = 0; at < bytes.length; lines += 1) {
    const end = bytes.indexOf("\n", at);
    try {
      strict.decode(bytes.subarray(at, end < 0 ? bytes.length : end));
    } catch {
      return lines;
    }
    if (end < 0) return lines;
    at = end + 1;
  }
  return lines;
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

/** False for a pipe, a device and a socket. @throws usage for a missing file and a folder, by their names */
export async function isRegularFile({ cwd }: Pick<Context, "cwd">, typed: string): Promise<boolean> {
  const found = await stat(resolve(cwd, typed)).catch((cause: unknown) => {
    throw isMissing(cause) ? missing(typed, cause) : unreadable(typed, cause);
  });
  if (found.isDirectory()) throw folder(typed);
  return found.isFile();
}

/** Whether a file begins like one of Parquet. @throws usage for a file that cannot be read */
export async function isParquet({ cwd }: Pick<Context, "cwd">, typed: string): Promise<boolean> {
  const file = await open(resolve(cwd, typed)).catch((cause: unknown) => {
    throw unreadable(typed, cause);
  });
  await using _closed = file;
  const { bytesRead, buffer } = await file.read(Buffer.alloc(MARK_LENGTH), 0, MARK_LENGTH, 0);
  return buffer.toString("latin1", 0, bytesRead) === MARKS.parquet;
}

function isMissing(cause: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "");
}

function missing(typed: string, cause: unknown): Error {
  return appError("usage", {
    detail: `There is no file ${typed}.`,
    hint: "Check the path, relative to the current folder.",
    cause,
  });
}

function folder(typed: string): Error {
  return appError("usage", { detail: `${typed} is a folder.`, hint: "Insert its files one by one." });
}

/** The error of a file that the system does not read. */
export function unreadable(typed: string, cause: unknown): Error {
  return appError("usage", {
    detail: `The file ${typed} cannot be read: ${cause instanceof Error ? cause.message : cause}.`,
    hint: "Use a file that you can read.",
    cause,
  });
}

function parquetAsText(typed: string, isFile: boolean): Error {
  if (isFile) {
    return appError("usage", {
      detail: `${typed} is a Parquet file.`,
      hint: "Name it with the ending .parquet.",
    });
  }
  return appError("usage", {
    detail: `${nameOf(typed)} is a Parquet file, whose index is at its end.`,
    hint: "Save it first: cli insert main/docs rows.parquet",
  });
}

/** The error of a text that `--format parquet` names, from the input, a pipe or a device. */
export function notParquet(typed: string): Error {
  return appError("usage", {
    detail: `${nameOf(typed)} is not a Parquet file.`,
    hint: "Choose its format: --format csv, or --format jsonl",
  });
}

function packed(typed: string): Error {
  return appError("usage", {
    detail: `${nameOf(typed)} is packed by gzip, which this command does not unpack.`,
    hint: `Unpack it: gunzip -c ${typed === "-" ? "rows.csv.gz" : typed} | cli insert <table> -`,
  });
}

/** The error of an Excel file. */
export function workbook(typed: string): Error {
  return appError("usage", {
    detail: `${nameOf(typed)} is an Excel file or another archive, which this command does not read.`,
    hint: 'Save its sheet as CSV, or insert it in Python: appdb.get_table("main/docs").insert("rows.xlsx")',
  });
}

function nameOf(typed: string): string {
  return typed === "-" ? "The input" : typed;
}
