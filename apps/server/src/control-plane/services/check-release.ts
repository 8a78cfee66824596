import { serviceUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import { podTablesCheckSchema, type TableHindrance } from "@appdb/contract/routes/pod";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { type FindPodDeps, findPod } from "../../pods/find-pod.ts";
import { askDocument, checkDocument } from "../../pods/pod-client.ts";
import type { OrgOfDatabases } from "../databases/store.ts";
import type { ServiceRow } from "./lock-services.ts";
import { findReleaseManifest } from "./releases.ts";

/** A release, and what of today's tables keeps it from serving. */
export interface CheckedRelease {
  readonly release: number;
  readonly hindrances: readonly TableHindrance[];
}

/**
 * Has the database's pod compare what a kept release declares with the tables as they are; no code of the release runs. Undefined for one
 * that is not kept.
 * @throws database_not_available, database_not_reached
 */
export async function checkRelease(
  deps: FindPodDeps,
  org: OrgOfDatabases,
  database: string,
  { id, name }: Pick<ServiceRow, "id" | "name">,
  release: number,
  signal: AbortSignal,
): Promise<CheckedRelease | undefined> {
  const manifest = await findReleaseManifest(deps.db, id, release);
  if (manifest === undefined) return undefined;
  const { pod } = await findPod(deps, org, database, "changed");
  const call = { ...POD_ROUTES.tablesCheck, body: { manifest, folders: name.split("/").slice(0, -1) }, signal };
  return { release, ...checkDocument(pod, podTablesCheckSchema, await askDocument(pod, call)) };
}

/** Refuses a release that would not start, or that could not store rows. @throws schema_mismatch with what differs */
export function refuseHindered(
  org: OrgOfDatabases,
  database: string,
  { app_file, name }: Pick<ServiceRow, "app_file" | "name">,
  { hindrances, release }: CheckedRelease,
): void {
  if (hindrances.length === 0) return;
  const uri = serviceUriOf(org.name, database, name);
  throw appError("schema_mismatch", {
    detail: `Release ${release} of ${uri} does not fit the tables as they are: ${listReasons(hindrances)}.`,
    hint: `Put the files of that release back where you work, then: cli deploy ${app_file} ${uri.slice(0, uri.lastIndexOf("/"))}`,
    meta: { uri, release, tables: [...new Set(hindrances.map(({ table }) => table))] },
  });
}

const MOST_REASONS = 5;

/** The first of them, and how many more there are. */
export function listReasons(hindrances: readonly TableHindrance[]): string {
  const more = hindrances.length - MOST_REASONS;
  const first = hindrances.slice(0, MOST_REASONS).map(({ reason }) => reason);
  return first.join("; ") + (more > 0 ? `; and ${more} more` : "");
}
