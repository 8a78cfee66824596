import { dirname, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { PodSpec } from "@appdb/pods/driver/pod-driver";
import { openRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import type { ServiceEndpoint } from "../../pods/ask-service.ts";
import { databasePaths, imageFolder, NO_FILES } from "../../pods/database-paths.ts";
import { notReached, type PodAddress } from "../../pods/pod-client.ts";
import { findPodToken } from "../../pods/pod-token.ts";
import { servicePaths } from "../../pods/service-paths.ts";
import { servicePodSpec } from "../../pods/service-pod-spec.ts";
import { serviceDsn } from "../../pods/service-role.ts";
import { serviceTokenOf } from "../../pods/service-token.ts";
import { openSecrets } from "../../secrets/secret-store.ts";
import { makeFolder, makePassage } from "../core/make-folder.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import type { ServiceSnapshot } from "./service-resource.ts";

export interface PreparedService {
  readonly spec: PodSpec;
  readonly door: ServiceEndpoint;
  /** The pod of its database. */
  readonly database: PodAddress;
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
  const ofDatabase = databasePaths(machine.place, databaseId);
  const places = servicePaths(machine.place, row, instance);
  const release = await readRelease(deps, snapshot);
  const image = await findImage(deps, snapshot, release.environment);
  const databaseToken = await findPodToken({ db, envelope }, databaseId);
  // the database's pod owns the folder of PostgreSQL's socket
  const ofPod = await machine.driver.inspect(ofDatabase.pod_id);
  if (databaseToken === undefined || database.observed === null || ofPod?.state !== "running") {
    throw notReached(database.uri);
  }
  const pod = { uri: database.uri, socket: ofDatabase.socket, token: databaseToken };
  const projectRoot = join(ofDatabase.files_folder, release.tree ?? NO_FILES);
  openRuntimeFolder(places.run_folder, machine.pod_users);
  // the database's pod measures their size
  for (const folder of [dirname(places.folder), places.folder]) await makePassage(folder);
  for (const folder of [places.scratch_folder, places.log_folder]) await makeFolder(folder);
  const [secrets, found, publicKey, keySnapshot] = await Promise.all([
    openSecrets(db, envelope, { org_id: orgId, database_id: databaseId }),
    machine.findRuntime(image),
    deps.snapshots.publicKey(),
    deps.snapshots.issue({ org_id: orgId, organization, database: database.name }),
    release.tree === null
      ? makeFolder(projectRoot)
      : machine.materializeTree(orgId, release.tree, ofDatabase.files_folder, signal),
  ]);
  const token = serviceTokenOf(databaseToken, id, instance);
  const spec = servicePodSpec({
    service: { id, name: row.name, uri: snapshot.uri, instance },
    database: { id: databaseId, org_id: orgId, organization, name: database.name, run_folder: ofDatabase.run_folder },
    shared: database.observed,
    release,
    places,
    token,
    secrets,
    limits: machine.limits,
    may_export_private: machine.may_export_private,
    dsn: serviceDsn(ofDatabase.run_folder, databaseToken, id),
    keys: { public_key: publicKey.export({ type: "spki", format: "der" }).toString("base64"), snapshot: keySnapshot },
    runtime: { ...found.runtime, project_root: projectRoot },
    runtime_env: found.env,
    code_folders: [projectRoot, ...found.folders, ...(image === undefined ? [] : [image])],
  });
  return { spec, door: { socket: places.socket, token }, database: pod };
}

async function readRelease({ db }: ReconcileDeps, { row }: ServiceSnapshot) {
  return await db
    .selectFrom("control.releases")
    .select(["tree", "environment", "manifest", "workers"])
    .where("service_id", "=", row.id)
    .where("number", "=", row.desired.release)
    .executeTakeFirstOrThrow();
}

/** Undefined for the base library alone. @throws image_missing */
async function findImage(
  { machine }: ReconcileDeps,
  { database, row, uri }: ServiceSnapshot,
  hash: string | null,
): Promise<string | undefined> {
  if (hash === null) return undefined;
  if (await machine.hasImage(row.org_id, hash)) return imageFolder(machine.place.home, row.org_id, hash);
  throw appError("image_missing", {
    detail: `The image of release ${row.desired.release} of ${uri} no longer exists on this machine.`,
    hint: `Create a release with the database's current image: cli service update <app_file> ${database.uri}`,
    meta: { release: row.desired.release, image: hash },
  });
}
