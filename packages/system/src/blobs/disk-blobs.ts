import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { awaitIfExists } from "../files/read-if-exists.ts";
import { syncPath } from "../files/sync-files.ts";
import type { BlobStore } from "./blob-store.ts";

const DIGEST = /^[0-9a-f]{64}$/;
const OWNER = /^[a-z0-9-]{1,63}$/;
/** Folder of blobs that are being written. */
const DRAFTS = "drafts";
const FULL = ["ENOSPC", "EDQUOT"];

/** Stores blobs as files below a folder: `<owner>/<ab>/<digest>`. */
export function createDiskBlobs(folder: string): BlobStore {
  const pathOf = (owner: string, digest: string) => {
    // paths are built from both
    if (!OWNER.test(owner) || !DIGEST.test(digest)) throw new Error("Invalid owner or digest of a blob.");
    return { parent: join(folder, owner, digest.slice(0, 2)), path: join(folder, owner, digest.slice(0, 2), digest) };
  };
  return {
    has: (owner, digest) => blobExists(pathOf(owner, digest).path),
    async put(owner, digest, bytes) {
      const { parent, path } = pathOf(owner, digest);
      const drafts = join(folder, owner, DRAFTS);
      const draft = join(drafts, randomBytes(12).toString("hex"));
      try {
        await mkdir(drafts, { recursive: true, mode: 0o700 });
        await mkdir(parent, { recursive: true, mode: 0o700 });
        await writeDraft(draft, digest, bytes);
        await rename(draft, path);
        await syncPath(parent);
      } catch (cause) {
        await rm(draft, { force: true });
        throw toStoreError(cause);
      }
    },
    async *get(owner, digest) {
      const { path } = pathOf(owner, digest);
      try {
        yield* createReadStream(path) as AsyncIterable<Uint8Array>;
      } catch (cause) {
        if (codeOf(cause) !== "ENOENT") throw cause;
        throw appError("blobs_missing", {
          detail: `The blob ${digest} is not stored.`,
          hint: "Upload the project's files again.",
          meta: { digest },
          cause,
        });
      }
    },
    delete: (owner, digest) => rm(pathOf(owner, digest).path, { force: true }),
    clean: (before) => removeDrafts(folder, before),
  };
}

async function writeDraft(
  draft: string,
  digest: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const hash = createHash("sha256");
  const file = await open(draft, "wx", 0o600);
  try {
    for await (const piece of bytes) {
      hash.update(piece);
      await writeAll(file, piece);
    }
    const found = hash.digest("hex");
    if (found !== digest) {
      throw appError("blob_invalid", {
        detail: `The bytes of blob ${digest} have the SHA-256 ${found}.`,
        hint: "Send the file again as it is now.",
        meta: { digest },
      });
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

async function removeDrafts(folder: string, before: Date): Promise<void> {
  for (const owner of (await awaitIfExists(readdir(folder))) ?? []) {
    const drafts = join(folder, owner, DRAFTS);
    for (const name of (await awaitIfExists(readdir(drafts))) ?? []) {
      const found = await stat(join(drafts, name)).catch(() => undefined);
      if (found !== undefined && found.mtime < before) await rm(join(drafts, name), { force: true });
    }
  }
}

async function blobExists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function toStoreError(cause: unknown): unknown {
  if (!FULL.includes(codeOf(cause) ?? "")) return cause;
  return appError("disk_full", {
    detail: "The server's disk is full; the file was not stored.",
    hint: "Ask the operator of the server to free space on its disk, then try again. Files stored earlier are kept.",
    cause,
  });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
