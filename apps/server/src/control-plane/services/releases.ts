import type { Manifest } from "@appdb/contract/manifest";
import type { Release } from "@appdb/contract/routes/control-services";
import { sql } from "kysely";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";

/** Kept releases of each service. Their files and images stay stored. */
const KEPT_RELEASES = 10;

type Reads = Pick<Tx, "selectFrom">;

export interface NewRelease {
  readonly tree: string | null;
  readonly environment: string | null;
  readonly app_file: string;
  readonly manifest: Manifest;
  readonly workers: number;
  readonly changes: readonly string[];
  readonly created_by: string;
}

/** Adds a release, removes old ones except the serving one, returns the number. The caller holds the service's lock. */
export async function addRelease(tx: Tx, serviceId: string, release: NewRelease): Promise<number> {
  const { changes, manifest, ...rest } = release;
  const { number } = await tx
    .insertInto("control.releases")
    .values(({ selectFrom }) => ({
      ...rest,
      service_id: serviceId,
      number: selectFrom("control.releases")
        .select(sql<number>`coalesce(max(number), 0) + 1`.as("number"))
        .where("service_id", "=", serviceId),
      manifest: JSON.stringify(manifest),
      changes: JSON.stringify(changes),
    }))
    .returning("number")
    .executeTakeFirstOrThrow();
  await sql`delete from control.releases r where r.service_id = ${serviceId} and r.number <= ${number - KEPT_RELEASES}
    and not exists (select from control.services s where s.id = r.service_id and (s.observed ->> 'release')::int = r.number)`.execute(
    tx,
  );
  return number;
}

/** The last release before a given one that served, or undefined. */
export async function findReleaseBefore(db: Reads, serviceId: string, number: number): Promise<number | undefined> {
  const row = await db
    .selectFrom("control.releases")
    .select("number")
    .where("service_id", "=", serviceId)
    .where("number", "<", number)
    .where("served_at", "is not", null)
    .orderBy("number", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.number;
}

/** Records that a release serves, the first time. */
export async function markServed(tx: Tx, serviceId: string, number: number): Promise<void> {
  await tx
    .updateTable("control.releases")
    .set({ served_at: sql<Date>`now()` })
    .where("service_id", "=", serviceId)
    .where("number", "=", number)
    .where("served_at", "is", null)
    .execute();
}

/** The numbers of a service's kept releases, newest first. */
export async function listReleaseNumbers(db: Reads, serviceId: string): Promise<number[]> {
  const rows = await db
    .selectFrom("control.releases")
    .select("number")
    .where("service_id", "=", serviceId)
    .orderBy("number", "desc")
    .execute();
  return rows.map(({ number }) => number);
}

/** The manifest of a release. Undefined if it is not kept. */
export async function findReleaseManifest(db: Reads, serviceId: string, number: number): Promise<Manifest | undefined> {
  const row = await db
    .selectFrom("control.releases")
    .select("manifest")
    .where("service_id", "=", serviceId)
    .where("number", "=", number)
    .executeTakeFirst();
  return row?.manifest;
}

/** The releases of a service, newest first. */
export async function listReleases(
  db: ControlDatabase,
  serviceId: string,
  page: PageQuery,
): Promise<{ items: Release[]; next: string | null }> {
  const from = Number(readPageCursor(page.cursor)?.after ?? Number.MAX_SAFE_INTEGER);
  const rows = await db
    .selectFrom("control.releases")
    .select([
      "number",
      "tree",
      "environment",
      "app_file",
      "workers",
      "changes",
      "created_at",
      "created_by",
      "served_at",
    ])
    .where("service_id", "=", serviceId)
    .where(sql<boolean>`number < ${Number.isSafeInteger(from) ? from : 0}::bigint`)
    .orderBy("number", "desc")
    .limit(page.limit + 1)
    .execute();
  return toPage(
    rows,
    page.limit,
    ({ created_at: createdAt, environment, served_at: servedAt, tree, ...row }) => ({
      ...row,
      files: tree,
      image: environment,
      created_at: createdAt.toISOString(),
      served_at: servedAt?.toISOString() ?? null,
    }),
    (row) => ({ after: String(row.number), id: "" }),
  );
}
