import { appError } from "@appdb/contract/errors";
import type { PodSpec } from "@appdb/pods/driver/pod-driver";
import { databasePod } from "../../pods/database-paths.ts";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { type DatabaseAddress, podUnreachable } from "../../pods/pod-client.ts";
import { findPodToken } from "../../pods/pod-token.ts";
import { servicePod } from "../../pods/service-paths.ts";
import { servicePodSpec } from "../../pods/service-pod-spec.ts";
import { serviceDsn } from "../../pods/service-role.ts";
import { serviceTokenOf } from "../../pods/service-token.ts";
import { openSecrets } from "../../secrets/secret-store.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import type { ServiceSnapshot } from "./service-resource.ts";

export interface PreparedService {
  readonly spec: PodSpec;
  readonly address: PodAddress;
  /** The pod of its database. */
  readonly database: DatabaseAddress;
}

/**
 * Prepares everything that an instance needs before its start. Returns its spec.
 * @throws database_not_reached, image_missing, blobs_missing, disk_full, environment_failed, python_not_found
 */
export async function prepareService(
  deps: ReconcileDeps,
  snapshot: ServiceSnapshot,
  instance: number,
  signal: AbortSignal,
): Promise<PreparedService> {
  const { db, envelope, machine } = deps;
  const { database, organization, row } = snapshot;
  const { database_id: databaseId, id, org_id: orgId } = row;
  const { driver } = machine;
  const release = await readRelease(deps, snapshot);
  await demandImage(deps, snapshot, release.environment);
  const databaseToken = await findPodToken({ db, envelope }, databaseId);
  // the database's pod owns the folder of PostgreSQL's socket
  const ofPod = await driver.inspect(databasePod(databaseId).id);
  if (databaseToken === undefined || database.observed === null || ofPod?.state !== "running") {
    throw podUnreachable(database.uri);
  }
  const ofDatabase = await driver.endpoints(databasePod(databaseId));
  const [secrets, found, publicKey, keySnapshot] = await Promise.all([
    openSecrets(db, envelope, { org_id: orgId, database_id: databaseId }),
    machine.findRuntime({ org_id: orgId, hash: release.environment }),
    deps.snapshots.publicKey(),
    deps.snapshots.issue({ org_id: orgId, organization, database: database.name }),
    release.tree === null
      ? undefined
      : machine.materializeTree({ org_id: orgId, database_id: databaseId, digest: release.tree }, signal),
  ]);
  const token = serviceTokenOf(databaseToken, id, instance);
  const spec = servicePodSpec({
    service: { id, name: row.name, uri: snapshot.uri, instance },
    database: { id: databaseId, org_id: orgId, organization, name: database.name },
    shared: database.observed,
    release,
    target: driver.target,
    token,
    has_bucket: deps.bucket !== undefined,
    database_token: databaseToken,
    secrets,
    limits: machine.limits,
    may_export_private: machine.may_export_private,
    dsn: serviceDsn(ofDatabase.postgres, databaseToken, id),
    keys: { public_key: publicKey.export({ type: "spki", format: "der" }).toString("base64"), snapshot: keySnapshot },
    runtime: found.runtime,
    runtime_env: found.env,
  });
  const { api } = await driver.endpoints(servicePod(row, instance));
  return {
    spec,
    address: { endpoint: api, token },
    database: { uri: database.uri, endpoint: ofDatabase.api, token: databaseToken },
  };
}

async function readRelease({ db }: ReconcileDeps, { row }: ServiceSnapshot) {
  return await db
    .selectFrom("control.releases")
    .select(["tree", "environment", "manifest", "workers"])
    .where("service_id", "=", row.id)
    .where("number", "=", row.desired.release)
    .executeTakeFirstOrThrow();
}

/** @throws image_missing */
async function demandImage(
  { machine }: ReconcileDeps,
  { database, row, uri }: ServiceSnapshot,
  hash: string | null,
): Promise<void> {
  if (hash === null || (await machine.hasImage(row.org_id, hash))) return;
  throw appError("image_missing", {
    detail: `The image of release ${row.desired.release} of ${uri} no longer exists on this machine.`,
    hint: `Create a release with the database's current image: cli service update <app_file> ${database.uri}`,
    meta: { release: row.desired.release, image: hash },
  });
}
