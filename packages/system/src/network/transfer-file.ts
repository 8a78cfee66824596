import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import type { IncomingMessage, RequestOptions } from "node:http";
import { dirname } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type AppError, appError, fromProblem, parseProblem } from "@appdb/contract/errors";

/** Maximum silence of the other side. */
const SILENCE_MS = 60_000;
const READ_BYTES = 1 << 20;
/** Maximum size of an answer other than a file: a problem, or what was stored. */
const MAX_TEXT_BYTES = 64 << 10;
/** Pauses before a transfer is tried again. */
const RETRY_S = [1, 2, 4, 8, 16] as const;
/** The name of a file that is not complete has the pid of its process. */
const PART = /\.(\d+)-[0-9a-f]{12}\.part$/;
const PASSING = [429, 502, 503, 504];
/** Failures with such a status that stay until a person mends the store. */
const LASTING: ReadonlySet<string> = new Set(["media_denied", "media_store_not_found"]);

export interface Transfer {
  readonly signal: AbortSignal;
  /** Called with the bytes of each piece; with negative ones when they are sent again. */
  onBytes?(bytes: number): void;
  /** Pauses before each further attempt, in seconds. */
  readonly pauses_s?: readonly number[];
}

/** Content that can be read again when a transfer is tried again. */
export interface SentContent {
  readonly bytes: number;
  read(): AsyncIterable<Uint8Array>;
}

/** A broken connection, or a server that is busy: the transfer may be tried again. */
class Passing extends Error {}

/** Puts a file to an address with constant memory. Returns what the server answered. @throws the server's error */
export async function putFile(address: string, path: string, bytes: number, transfer: Transfer): Promise<string> {
  const read = () => createReadStream(path, { highWaterMark: READ_BYTES });
  return await putContent(address, { bytes, read }, transfer);
}

/** The same for other content. @throws the server's error; that of reading the content */
export async function putContent(
  address: string,
  { bytes, read }: SentContent,
  transfer: Transfer,
  further: Readonly<Record<string, string>> = {},
): Promise<string> {
  return await retried(transfer, async (counted) => {
    const headers = { "content-type": "application/octet-stream", "content-length": String(bytes), ...further };
    const { request } = address.startsWith("https:") ? await import("node:https") : await import("node:http");
    const sent = request(address, { ...optionsOf(transfer), method: "PUT", headers });
    let broken: { readonly error: unknown } | undefined;
    const content = watched(read(), (error) => {
      broken = { error };
      sent.destroy();
    });
    const answered = answerOf(sent);
    const sending = pipeline(content, counted, sent, { signal: transfer.signal });
    // the server may answer before it has read everything
    sending.catch(() => undefined);
    const answer = await answered.catch((error: unknown) => {
      throw broken === undefined ? error : broken.error;
    });
    const text = await textOf(answer);
    if (answer.statusCode === 201) return text;
    sent.destroy();
    throw refusal(answer, text);
  });
}

/** Gets a file of this content from an address: its name appears when it is complete. @throws media_invalid, the server's error */
export async function getFile(address: string, path: string, sha256: string, transfer: Transfer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}-${randomBytes(6).toString("hex")}.part`;
  try {
    await retried(transfer, async (counted) => {
      const answer = await answerTo(address, {}, transfer);
      const hash = createHash("sha256");
      counted.on("data", (piece: Buffer) => hash.update(piece));
      try {
        await pipeline(answer, counted, createWriteStream(draft), { signal: transfer.signal });
      } catch (error) {
        throw isOfConnection(error) ? new Passing(String(error)) : error;
      }
      if (hash.digest("hex") !== sha256) throw new Passing("other bytes arrived than the store has");
    });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The pid of the process that gets this file of `getFile`, or was killed; undefined for other files. */
export function pidOfPart(name: string): number | undefined {
  const pid = PART.exec(name)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** Opens the content of an address, or a part of it. The body is read once. @throws the server's error */
export async function openContent(
  address: string,
  range: { readonly start: number; readonly end: number } | undefined,
  transfer: Transfer,
): Promise<IncomingMessage> {
  const headers = range === undefined ? {} : { range: `bytes=${range.start}-${range.end - 1}` };
  return await retried(transfer, async () => await answerTo(address, headers, transfer));
}

async function answerTo(
  address: string,
  headers: Readonly<Record<string, string>>,
  transfer: Transfer,
): Promise<IncomingMessage> {
  const { get } = address.startsWith("https:") ? await import("node:https") : await import("node:http");
  const answer = await answerOf(get(address, { ...optionsOf(transfer), headers }));
  if (answer.statusCode === 200 || answer.statusCode === 206) return answer;
  throw refusal(answer, await textOf(answer));
}

async function* watched(
  content: AsyncIterable<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    onError(error);
    throw error;
  }
}

/** The size and SHA-256 of a file; undefined if there is none. */
export async function hashOf(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of createReadStream(path, { highWaterMark: READ_BYTES })) {
    hash.update(piece as Buffer);
    bytes += (piece as Buffer).length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

async function retried<T>(transfer: Transfer, work: (counted: Transform) => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    let bytes = 0;
    const counted = new Transform({
      transform(piece: Buffer, _encoding, done) {
        bytes += piece.length;
        transfer.onBytes?.(piece.length);
        done(null, piece);
      },
    });
    try {
      return await work(counted);
    } catch (error) {
      if (transfer.signal.aborted)
        throw appError("interrupted", { detail: "The command was interrupted. Files that were copied stay." });
      const pauseS = (transfer.pauses_s ?? RETRY_S)[tries];
      if (!(error instanceof Passing)) throw error;
      if (pauseS === undefined) throw lost(error);
      transfer.onBytes?.(-bytes);
      await sleep(pauseS * 1_000, undefined, { signal: transfer.signal }).catch(() => undefined);
    }
  }
}

function optionsOf({ signal }: Transfer): RequestOptions {
  return { signal, timeout: SILENCE_MS };
}

function answerOf(sent: import("node:http").ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on("response", resolve);
    sent.on("timeout", () => sent.destroy(new Passing(`nothing was sent for ${SILENCE_MS / 1_000} s`)));
    sent.on("error", (error) => reject(isOfConnection(error) ? new Passing(error.message) : error));
  });
}

const OF_CONNECTION = ["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "ECONNABORTED"];

function isOfConnection(error: unknown): boolean {
  const { code } = error as { readonly code?: string };
  return code !== undefined && OF_CONNECTION.includes(code);
}

function refusal({ statusCode = 0 }: IncomingMessage, text: string): Error {
  const problem = parseProblem(text);
  const detail = problem?.detail ?? `The media store answered ${statusCode}.`;
  const isLasting = problem !== undefined && LASTING.has(problem.code);
  if (PASSING.includes(statusCode) && !isLasting) return new Passing(detail);
  return problem === undefined
    ? appError("server_failed", { detail, hint: "Run the command again." })
    : fromProblem(problem);
}

/** Empty for an answer that is too large, which is not read to its end. */
async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      // leaving the loop ends the connection
      if (bytes > MAX_TEXT_BYTES) return "";
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString("utf8");
  } catch (error) {
    throw new Passing(String(error));
  }
}

function lost(cause: Error): AppError {
  return appError("server_unreachable", {
    detail: `A file could not be copied after several attempts: ${cause.message.replace(/\.$/, "")}.`,
    hint: "Run the command again: it skips the files that were copied.",
    cause,
  });
}
