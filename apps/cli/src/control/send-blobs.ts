import { closeSync, openSync, readSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlClient } from "@appdb/contract/clients/control-client";
import { AppError, appError } from "@appdb/contract/errors";
import { Header } from "tar";
import { digestOf, filesChanged } from "../project/hash-file.ts";
import type { BlobSource, ProjectTree } from "../project/read-tree.ts";

export interface UploadInput {
  readonly org: string;
  readonly tree: Pick<ProjectTree, "blobs">;
  readonly signal: AbortSignal;
  /** Progress in bytes: received so far, of those that were missing. */
  readonly onProgress: (sent: number, total: number) => void;
  /** The connection broke; the upload continues with the missing blobs. */
  readonly onRetry: (reason: string) => void;
}

/** Size of one request: the maximum loss when it is interrupted. */
const PACK_BYTES = 16 * 1024 * 1024;
const PACK_BLOBS = 2_000;
/** Digests per query. */
const ASK_DIGESTS = 10_000;
/** Pauses after an interruption before missing blobs are sent. Progress resets them. */
const RETRY_S = [1, 2, 4, 8, 16] as const;
const BLOCK_BYTES = 512;

/**
 * Sends the blobs of a tree that the organization lacks. Blobs sent before an interruption or Ctrl-C are kept and not
 * sent again.
 * @throws files_changed when a file differs from its digest; server_unreachable, interrupted
 */
export async function sendBlobs(client: ControlClient, input: UploadInput): Promise<{ readonly bytes: number }> {
  let missing = await findMissing(client, input, [...input.tree.blobs.keys()]);
  const total = sumOf(input, missing);
  let tries = 0;
  while (missing.length > 0) {
    const pack = takePack(input, missing);
    const done = total - sumOf(input, missing);
    try {
      const onSent = (bytes: number) => input.onProgress(Math.min(total, done + bytes), total);
      const tar = { params: { org: input.org }, sent: writeTar(input, pack) };
      await client.call("blobUpload", tar, { signal: input.signal, onSent });
      missing = missing.slice(pack.length);
      tries = 0;
    } catch (error) {
      if (!(error instanceof AppError) || !isPassing(error) || input.signal.aborted) throw error;
      const pauseS = RETRY_S[tries++];
      if (pauseS === undefined) throw error;
      input.onRetry(error.message);
      await pause(pauseS, input.signal);
      const before = missing.length;
      missing = await findMissing(client, input, missing).catch((lost: unknown) => {
        // not reachable yet: the next try finds out
        if (lost instanceof AppError && isPassing(lost) && !input.signal.aborted) return missing;
        throw lost;
      });
      if (missing.length < before) tries = 0;
    }
  }
  return { bytes: total };
}

async function findMissing(
  client: ControlClient,
  { org, signal }: Pick<UploadInput, "org" | "signal">,
  digests: readonly string[],
): Promise<string[]> {
  const missing: string[] = [];
  for (let at = 0; at < digests.length; at += ASK_DIGESTS) {
    const body = { digests: digests.slice(at, at + ASK_DIGESTS) };
    missing.push(...(await client.call("blobMissing", { params: { org }, body }, { signal })).missing);
  }
  return missing;
}

function takePack(input: Pick<UploadInput, "tree">, missing: readonly string[]): string[] {
  const pack: string[] = [];
  let bytes = 0;
  for (const digest of missing) {
    const { length } = sourceOf(input, digest);
    if (pack.length > 0 && (bytes + length > PACK_BYTES || pack.length === PACK_BLOBS)) break;
    pack.push(digest);
    bytes += length;
  }
  return pack;
}

/** An archive whose entries are named by their digests. Each is checked before it is sent. */
function writeTar(input: Pick<UploadInput, "tree">, pack: readonly string[]): Buffer<ArrayBuffer> {
  const parts: Buffer[] = [];
  for (const digest of pack) {
    const bytes = readBlob(sourceOf(input, digest), digest);
    const header = new Header({ path: digest, mode: 0o644, size: bytes.length, type: "File", mtime: new Date(0) });
    const block = Buffer.alloc(BLOCK_BYTES);
    header.encode(block);
    parts.push(block, bytes, Buffer.alloc(-bytes.length & (BLOCK_BYTES - 1)));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function readBlob({ absolute, bytes, length, offset, path }: BlobSource, digest: string): Buffer {
  const read = bytes === undefined ? readPart(absolute, offset, length) : Buffer.from(bytes);
  if (read === undefined || digestOf(read) !== digest) throw filesChanged([path]);
  return read;
}

/** Undefined when the file is gone or has become shorter. */
function readPart(absolute: string, offset: number, length: number): Buffer | undefined {
  const part = Buffer.allocUnsafe(length);
  try {
    const file = openSync(absolute, "r");
    try {
      let got = 0;
      while (got < length) {
        const more = readSync(file, part, got, length - got, offset + got);
        if (more === 0) return undefined;
        got += more;
      }
      return part;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return undefined;
    throw error;
  }
}

function sourceOf({ tree }: Pick<UploadInput, "tree">, digest: string): BlobSource {
  const source = tree.blobs.get(digest);
  if (source !== undefined) return source;
  throw appError("server_failed", {
    detail: "The server requested a blob that this project does not have.",
    hint: "Upgrade this library, or the server.",
    meta: { digest: digest.slice(0, 64) },
  });
}

function sumOf(input: Pick<UploadInput, "tree">, digests: readonly string[]): number {
  return digests.reduce((sum, digest) => sum + sourceOf(input, digest).length, 0);
}

/** Whether a retry may help. */
function isPassing({ code }: AppError): boolean {
  return (
    code === "server_unreachable" || code === "server_failed" || code === "request_timeout" || code === "overloaded"
  );
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds * 1_000, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) throw appError("interrupted", { detail: "The command was interrupted. Nothing was changed." });
}
