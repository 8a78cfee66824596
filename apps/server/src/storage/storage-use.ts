import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import type { StorageBounds } from "../config/config-quotas.ts";
import type { ControlDatabase, Tx } from "../database/pool.ts";

/** Minimum size of a file on a disk. */
export const BLOCK_BYTES = 4_096;
const GIGABYTE = 1024 ** 3;

export interface StorageUse {
  readonly bytes: number;
  readonly files: number;
}

/** An organization's storage, by kind. */
export interface StorageUses {
  readonly uploads: StorageUse;
  /** Lists of project files, in the control plane's database. */
  readonly lists: StorageUse;
  readonly unpacked: StorageUse;
  readonly images: StorageUse;
  readonly total: StorageUse;
}

const KINDS = ["uploads", "lists", "unpacked", "images"] as const;

/**
 * Counts an organization's storage from its rows. Rows precede the data, so running writes count. Lists do not count as
 * files.
 */
export async function readStorageUse(db: ControlDatabase | Tx, orgId: string): Promise<StorageUses> {
  const { rows } = await sql<{ kind: (typeof KINDS)[number]; bytes: string; files: string }>`
    select 'uploads' as kind, coalesce(sum(greatest(bytes, ${sql.lit(BLOCK_BYTES)})), 0) as bytes, count(*) as files
      from control.blobs where org_id = ${orgId}
    union all select 'lists', coalesce(sum(list_bytes), 0), 0 from control.trees where org_id = ${orgId}
    union all select 'unpacked', coalesce(sum(bytes), 0), coalesce(sum(files), 0) from control.unpacked where org_id = ${orgId}
    union all select 'images',
        coalesce(sum(coalesce(bytes, 0) + case when reserved_until > now() then reserved_bytes else 0 end), 0), coalesce(sum(files), 0)
      from control.images where org_id = ${orgId}`.execute(db);
  const of = (kind: (typeof KINDS)[number]): StorageUse => {
    const row = rows.find((row) => row.kind === kind);
    return { bytes: Number(row?.bytes ?? 0), files: Number(row?.files ?? 0) };
  };
  const [uploads, lists, unpacked, images] = [of("uploads"), of("lists"), of("unpacked"), of("images")];
  const all = [uploads, lists, unpacked, images];
  const total = {
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    files: all.reduce((sum, { files }) => sum + files, 0),
  };
  return { uploads, lists, unpacked, images, total };
}

/**
 * Counts an organization's storage and locks it until the transaction ends. To avoid deadlocks, a transaction writes
 * its own rows before, and afterwards locks only its events.
 */
export async function lockStorageUse(tx: Tx, orgId: string): Promise<StorageUses> {
  await sql`select pg_advisory_xact_lock(hashtextextended('control.storage ' || ${orgId}::text, 0))`.execute(tx);
  return await readStorageUse(tx, orgId);
}

/**
 * Checks that the organization may store the rows that a transaction has written. `what` starts the error text: "The
 * upload".
 * @throws storage_quota
 */
export async function requireStorageQuota(
  tx: Tx,
  orgId: string,
  { max_bytes: maxBytes, max_files: maxFiles }: StorageBounds,
  what: string,
): Promise<StorageUses> {
  const uses = await lockStorageUse(tx, orgId);
  const { bytes, files } = uses.total;
  if (bytes <= maxBytes && files <= maxFiles) return uses;
  throw storageFull(uses, { max_bytes: maxBytes, max_files: maxFiles }, what);
}

/** The error for exceeding an organization's storage. */
export function storageFull(
  { total, uploads, unpacked, images }: StorageUses,
  { max_bytes: maxBytes, max_files: maxFiles }: Pick<StorageBounds, "max_bytes" | "max_files">,
  what: string,
): Error {
  return appError("storage_quota", {
    detail:
      `${what} exceeds the storage quota: the organization would have ${print(total.bytes)} in ${total.files} files; ` +
      `the maximum is ${print(maxBytes)} in ${maxFiles} files. ` +
      `Uploads have ${print(uploads.bytes)}, unpacked project files ${print(unpacked.bytes)}, images ${print(images.bytes)}.`,
    hint: "Exclude large files in service.toml, or ask the operator for more. Files that no database uses are removed after a week.",
    meta: { bytes: total.bytes, files: total.files, most_bytes: maxBytes, most_files: maxFiles },
  });
}

function print(bytes: number): string {
  return `${(bytes / GIGABYTE).toFixed(2)} GB`;
}
