import { createGunzip } from "node:zlib";
import { CHUNK_BYTES, MAX_TREE_BYTES } from "@appdb/contract/control/project-tree";
import { appError } from "@appdb/contract/errors";
import { Parser, type ReadEntry } from "tar";

/** Maximum size of an upload: that of a tree, and tar's overhead for each blob. */
const MAX_BYTES = MAX_TREE_BYTES + 256 * 1024 * 1024;
/** A higher compression ratio than any project's would only serve to fill memory or disk. Small archives are exempt. */
const MAX_RATIO = 200;
const RATIO_FREE_BYTES = 4 * CHUNK_BYTES;
const DIGEST = /^[0-9a-f]{64}$/;
/** First bytes of gzip and zstd, which the parser would unpack automatically. */
const PACKED = [0x1f, 0x28];

export interface SentBlob {
  readonly digest: string;
  readonly bytes: Buffer;
}

/**
 * Reads blobs from a tar stream in order, with at most one in memory. Does not check digests.
 * @throws blob_invalid for anything but a stream of blobs, payload_too_large; the source's error if it is interrupted
 */
export async function* readBlobs(
  source: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
): AsyncGenerator<SentBlob> {
  const parser = new Parser({ strict: true, maxMetaEntrySize: 1024 });
  const found: SentBlob[] = [];
  let problem: Error | undefined;
  const refuse = (error: Error) => {
    problem ??= error;
  };
  parser.on("error", (cause: Error) => refuse(invalid("The body is not a tar archive, or it is incomplete.", cause)));
  let isEnded = false;
  parser.on("eof", () => {
    isEnded = true;
  });
  parser.on("ignoredEntry", (entry: ReadEntry) => refuse(noBlob(entry)));
  parser.on("entry", (entry: ReadEntry) => {
    const pieces: Buffer[] = [];
    const wrong = findProblem(entry);
    if (wrong !== undefined) refuse(wrong);
    else entry.on("data", (piece: Buffer) => pieces.push(piece));
    // synchronous like the parser: the rest of the stream waits for the next write
    entry.on("end", () => {
      if (wrong === undefined) found.push({ digest: entry.path, bytes: Buffer.concat(pieces) });
    });
    entry.resume();
  });
  let isFirst = true;
  for await (const piece of unpack(source, encoding)) {
    if (isFirst && PACKED.includes(piece[0] ?? 0))
      throw invalid("The body is compressed, but has no content-encoding header.");
    isFirst = false;
    // an archive is padded after its end
    if (isEnded) continue;
    parser.write(piece);
    if (problem !== undefined) throw problem;
    yield* found.splice(0);
  }
  if (!isEnded) throw invalid("The archive is incomplete.");
}

function findProblem(entry: ReadEntry): Error | undefined {
  if (entry.type !== "File" && entry.type !== "OldFile") return noBlob(entry);
  if (!DIGEST.test(entry.path))
    return invalid(`${shown(entry.path)} is not a SHA-256 in hex. Blobs are named by their SHA-256.`);
  if (entry.size > CHUNK_BYTES) {
    return invalid(
      `The blob ${entry.path} has ${entry.size} bytes; the maximum is ${CHUNK_BYTES}. Larger files are split.`,
    );
  }
  return undefined;
}

/** The uncompressed archive, with limits on its size. */
async function* unpack(source: AsyncIterable<Uint8Array>, encoding: string | undefined): AsyncGenerator<Buffer> {
  let came = 0;
  let made = 0;
  const counted = (async function* () {
    for await (const piece of source) {
      came += piece.length;
      yield piece;
    }
  })();
  for await (const piece of encoding === undefined ? counted : gunzip(counted, encoding)) {
    made += piece.length;
    if (made > MAX_BYTES) {
      throw appError("payload_too_large", {
        detail: `The archive has more than ${MAX_BYTES} bytes.`,
        hint: "Send it in several parts.",
      });
    }
    if (encoding !== undefined && made > RATIO_FREE_BYTES && made > came * MAX_RATIO) {
      throw invalid(`The archive is compressed to less than a ${MAX_RATIO}th of its size.`);
    }
    yield Buffer.from(piece.buffer, piece.byteOffset, piece.length);
  }
}

async function* gunzip(source: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array> {
  if (encoding !== "gzip") {
    throw appError("invalid_encoding", {
      detail: `Expected no encoding or gzip, got ${shown(encoding)}.`,
      hint: "Omit the header content-encoding and send the archive uncompressed.",
    });
  }
  const gunzip = createGunzip();
  let cut: unknown;
  const fed = (async () => {
    try {
      for await (const piece of source) {
        if (!gunzip.write(piece)) await new Promise<void>((resolve) => drainOrClose(gunzip, resolve));
        if (gunzip.destroyed) return;
      }
      gunzip.end();
    } catch (error) {
      cut = error;
      gunzip.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  })();
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (cut !== undefined) throw cut;
    throw appError("invalid_encoding", { detail: "The body is not compressed with gzip as its header says.", cause });
  } finally {
    gunzip.destroy();
  }
  await fed;
}

function drainOrClose(stream: NodeJS.WritableStream, done: () => void): void {
  const over = () => {
    stream.off("drain", over);
    stream.off("close", over);
    done();
  };
  stream.on("drain", over);
  stream.on("close", over);
}

function noBlob(entry: ReadEntry): Error {
  return invalid(`${shown(entry.path)} is not a regular file (${entry.type}). Blobs must be regular files.`);
}

function invalid(detail: string, cause?: unknown): Error {
  return appError("blob_invalid", {
    detail,
    hint: "Send a tar archive of regular files, each named by the SHA-256 of its bytes.",
    cause,
  });
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}
