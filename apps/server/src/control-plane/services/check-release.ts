import { serviceUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { PlanOp } from "@appdb/contract/plan";
import type { TableIncompatibility } from "@appdb/contract/routes/pod";
import { compareRoutes, op } from "@appdb/engine/services/compare-routes";
import { podClient } from "../../pods/pod-client.ts";
import type { OrgOfDatabases } from "../databases/databases-store.ts";
import { type FindPodDeps, findPod } from "../databases/find-pod.ts";
import type { LockedService } from "./lock-services.ts";
import { findReleaseManifest } from "./releases.ts";

/** A release, its conflicts with the current tables, and its changes for clients of the running release. */
export interface CheckedRelease {
  readonly release: number;
  readonly hindrances: readonly TableIncompatibility[];
  readonly routes: readonly PlanOp[];
}

/**
 * Makes the database's pod compare a kept release with the current tables, without running its code. Undefined if the
 * release is not kept.
 * @throws database_not_available, database_not_reached
 */
export async function checkRelease(
  deps: FindPodDeps,
  org: OrgOfDatabases,
  database: string,
  service: Pick<LockedService, "id" | "name" | "desired" | "observed">,
  release: number,
  signal: AbortSignal,
): Promise<CheckedRelease | undefined> {
  const { id, name } = service;
  const manifest = await findReleaseManifest(deps.db, id, release);
  if (manifest === undefined) return undefined;
  const current = await findReleaseManifest(deps.db, id, releaseOf(service));
  const { pod } = await findPod(deps, org, database, "changed");
  const body = { manifest, folders: name.split("/").slice(0, -1) };
  const checked = await podClient(pod).call("tablesCheck", { body }, { signal });
  const declared = name.slice(name.lastIndexOf("/") + 1);
  return { release, ...checked, routes: current === undefined ? [] : compareRoutes(current, manifest, declared) };
}

/** The release that a service runs, otherwise the desired one. */
export function releaseOf({ desired, observed }: Pick<LockedService, "desired" | "observed">): number {
  return observed?.release ?? desired.release;
}

/** Plans a service's return to an earlier release: a refusal by the tables, or the changes for clients. */
export function planReturn(
  { app_file: appFile, name }: Pick<LockedService, "app_file" | "name">,
  { from, to }: { readonly from: number; readonly to: number },
  checked: CheckedRelease | undefined,
  databaseUri: string,
): PlanOp[] {
  const details = { app_file: appFile, from, to };
  const compared = checked?.release === to ? checked : undefined;
  if (compared === undefined || compared.hindrances.length === 0) {
    const text = `service '${name}' goes back from release ${from} to release ${to}`;
    const routes = (compared?.routes ?? []).map((one) => ({ ...one, details: { ...one.details, service: name } }));
    return [{ ...op("alter", "service", "additive", text), name, details }, ...routes];
  }
  const cannot = `service '${name}' cannot go back to release ${to}: ${listReasons(compared.hindrances)}`;
  const next = deployAgain(appFile, `${databaseUri}/${name}`);
  return [{ ...op("alter", "service", "blocked", cannot), name, details: { ...details, next } }];
}

/** Refuses a release that could not start or store rows. @throws schema_mismatch with the differences */
export function refuseIncompatible(
  org: OrgOfDatabases,
  database: string,
  { app_file: appFile, name }: Pick<LockedService, "app_file" | "name">,
  { hindrances, release }: CheckedRelease,
): void {
  if (hindrances.length === 0) return;
  const uri = serviceUriOf(org.name, database, name);
  throw appError("schema_mismatch", {
    detail: `Release ${release} of ${uri} does not fit the current tables: ${listReasons(hindrances)}.`,
    hint: `Restore that release's files in your working copy, then: ${deployAgain(appFile, uri)}`,
    meta: { uri, release, tables: [...new Set(hindrances.map(({ table }) => table))] },
  });
}

/** The target is the service's database, or a folder of it. */
function deployAgain(appFile: string, serviceUri: string): string {
  return `cli deploy ${appFile} ${serviceUri.slice(0, serviceUri.lastIndexOf("/"))}`;
}

const MAX_REASONS = 5;

/** The first reasons, and the number of the rest. */
function listReasons(hindrances: readonly TableIncompatibility[]): string {
  const more = hindrances.length - MAX_REASONS;
  const first = hindrances.slice(0, MAX_REASONS).map(({ reason }) => reason);
  return first.join("; ") + (more > 0 ? `; and ${more} more` : "");
}
