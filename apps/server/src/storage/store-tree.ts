import { createHash } from "node:crypto";
import { CHUNK_BYTES, findTreeProblem, type TreeEntry, treeText } from "@appdb/contract/control/project-tree";
import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import type { StorageBounds } from "../config/config-quotas.ts";
import type { Tx } from "../database/pool.ts";
import { readSizes } from "./blob-store.ts";
import { requireStorageQuota } from "./storage-use.ts";

export interface KeptTree {
  readonly digest: string;
  readonly files: number;
  readonly bytes: number;
}

/** @throws tree_invalid if the tree cannot be unpacked */
export function checkTree(entries: readonly TreeEntry[]): void {
  const problem = findTreeProblem(entries);
  if (problem !== undefined) throw invalid(problem);
}

export function digestOfTree(entries: readonly TreeEntry[]): string {
  return createHash("sha256").update(treeText(entries)).digest("hex");
}

/**
 * Stores a list of project files whose bytes the organization has uploaded. The blobs stay as long as the list.
 * @throws tree_invalid, blobs_missing, storage_quota
 */
export async function storeTree(
  tx: Tx,
  orgId: string,
  entries: readonly TreeEntry[],
  bounds: StorageBounds,
): Promise<KeptTree> {
  checkTree(entries);
  const sizes = await readSizes(
    tx,
    orgId,
    entries.flatMap(({ chunks }) => chunks),
  );
  refuseMissing(entries, sizes);
  for (const entry of entries) checkSize(entry, sizes);
  const digest = digestOfTree(entries);
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const list = JSON.stringify(entries);
  const { rows } = await sql<{ is_new: boolean }>`
    insert into control.trees (org_id, digest, entries, files, bytes, list_bytes)
    values (${orgId}, ${digest}, ${list}::jsonb, ${entries.length}, ${bytes}, ${Buffer.byteLength(list)})
    on conflict (org_id, digest) do update set used_at = now() returning xmax = 0 as is_new`.execute(tx);
  if (rows[0]?.is_new === true) await requireStorageQuota(tx, orgId, bounds, "The list of the project's files");
  return { digest, files: entries.length, bytes };
}

/** The entries with missing bytes. */
export function findMissingFiles(entries: readonly TreeEntry[], sizes: ReadonlyMap<string, number>): TreeEntry[] {
  return entries.filter(({ chunks }) => chunks.some((digest) => !sizes.has(digest)));
}

function refuseMissing(entries: readonly TreeEntry[], sizes: ReadonlyMap<string, number>): void {
  const missing = findMissingFiles(entries, sizes);
  const [first] = missing;
  if (first === undefined) return;
  throw appError("blobs_missing", {
    detail: `${missing.length} of the project's ${entries.length} files were not uploaded, for example ${JSON.stringify(first.path)}.`,
    hint: "Run the command again to upload the missing files.",
    meta: { files: missing.length },
  });
}

function checkSize({ path, size, chunks }: TreeEntry, sizes: ReadonlyMap<string, number>): void {
  const found = chunks.map((digest) => sizes.get(digest) ?? 0);
  const isCutWell = found.slice(0, -1).every((bytes) => bytes === CHUNK_BYTES);
  const bytes = found.reduce((sum, one) => sum + one, 0);
  if (isCutWell && bytes === size) return;
  throw invalid(`${JSON.stringify(path.slice(0, 100))} declares ${size} bytes but has ${bytes} uploaded bytes`);
}

function invalid(problem: string): Error {
  return appError("tree_invalid", {
    detail: `The project's files are invalid: ${problem}.`,
    hint: "Exclude the file in service.toml, or rename it.",
  });
}
