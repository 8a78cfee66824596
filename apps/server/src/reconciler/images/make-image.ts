import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { HostRuntime, ImageFacts } from "../../pods/host-runtime.ts";
import { openSecrets } from "../../secrets/secret-store.ts";
import { requireDiskSpace } from "../../storage/disk-floor.ts";
import { releaseImage, reserveImage } from "../../storage/image-room.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";

/** An image that a database needs. */
export interface WantedImage {
  readonly org_id: string;
  readonly database_id: string;
  /** Hash of its stored environment. */
  readonly hash: string;
  /** Tree of the project files, which contain path dependencies. */
  readonly tree: string | null;
  /** Whether to build it even if it exists. */
  readonly is_forced: boolean;
}

/** Whether an environment's image is complete on this machine. */
export async function isImageThere(
  { db, machine }: { readonly db: ControlDatabase; readonly machine: Pick<HostRuntime, "hasImage"> },
  orgId: string,
  hash: string,
): Promise<boolean> {
  const image = await db
    .selectFrom("control.images")
    .select("state")
    .where("org_id", "=", orgId)
    .where("hash", "=", hash)
    .executeTakeFirst();
  return image?.state === "ready" && (await machine.hasImage(orgId, hash));
}

/**
 * Builds an image within its reserved storage.
 * @throws storage_quota, disk_full, build_failed, system_packages_refused
 */
export async function makeImage(
  { config, db, envelope, machine }: Pick<ReconcileDeps, "config" | "db" | "envelope" | "machine">,
  request: WantedImage,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<ImageFacts> {
  const { database_id: databaseId, hash, org_id: orgId } = request;
  const image = await db
    .selectFrom("control.images")
    .select("environment")
    .where("org_id", "=", orgId)
    .where("hash", "=", hash)
    .executeTakeFirst();
  if (image === undefined) throw new Error(`The environment ${hash} of a database is not stored.`);
  const secrets = await openSecrets(db, envelope, { org_id: orgId, database_id: databaseId });
  await requireDiskSpace({ config });
  const maxBytes = await reserveImage(db, config.quotas.storage, request);
  const { environment } = image;
  try {
    return await machine.buildImage({ ...request, secrets, environment, max_bytes: maxBytes }, onLine, signal);
  } catch (error) {
    await releaseImage(db, request);
    throw error;
  }
}

/** Records that an image is complete, for all databases with its environment. */
export async function recordBuiltImage(
  tx: Tx,
  { hash, org_id: orgId }: Pick<WantedImage, "hash" | "org_id">,
  { bytes, files, packages, python }: ImageFacts,
): Promise<void> {
  await tx
    .updateTable("control.images")
    .set({
      state: "ready",
      python,
      packages: JSON.stringify(packages),
      bytes: String(bytes),
      files,
      reserved_bytes: "0",
      reserved_until: null,
      built_at: sql<Date>`now()`,
      used_at: sql<Date>`now()`,
    })
    .where("org_id", "=", orgId)
    .where("hash", "=", hash)
    .execute();
}

/** Records a failed build. An existing image stays. */
export async function recordFailedBuild(
  tx: Tx,
  { hash, org_id: orgId }: Pick<WantedImage, "hash" | "org_id">,
): Promise<void> {
  await tx
    .updateTable("control.images")
    .set({ state: "failed" })
    .where("org_id", "=", orgId)
    .where("hash", "=", hash)
    .where("state", "=", "building")
    .execute();
}
