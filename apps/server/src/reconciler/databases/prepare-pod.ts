import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import type { PodSpec } from "@appdb/pods/driver/pod-driver";
import { openRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import type { Secret } from "@appdb/system/secret";
import type { ObservedDatabase } from "../../database/desired.ts";
import type { OperationError } from "../../operations/run-operation.ts";
import { databasePaths, imageFolder, NO_FILES } from "../../pods/database-paths.ts";
import { databasePodSpec } from "../../pods/database-pod-spec.ts";
import { ensurePodToken } from "../../pods/pod-token.ts";
import { openSecrets } from "../../secrets/secret-store.ts";
import { toFailure } from "../core/failures.ts";
import { makeFolder, makePassage } from "../core/make-folder.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import type { DatabaseSnapshot } from "./database-resource.ts";
import { moveFormerStorage } from "./move-former-storage.ts";

export interface PreparedPod {
  readonly spec: PodSpec;
  readonly token: Secret;
  readonly socket: string;
}

/** Prepares everything that a pod needs before its start. Returns its spec, or the reason of a failure. */
export async function preparePod(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  wanted: ObservedDatabase,
  signal: AbortSignal,
): Promise<PreparedPod | OperationError> {
  try {
    return await prepare(deps, snapshot, wanted, signal);
  } catch (error) {
    if (error instanceof AppError && !signal.aborted) return toFailure(error);
    throw error;
  }
}

async function prepare(
  deps: ReconcileDeps,
  { row, uri }: DatabaseSnapshot,
  wanted: ObservedDatabase,
  signal: AbortSignal,
): Promise<PreparedPod> {
  const { db, envelope, machine } = deps;
  const { id, org_id: orgId } = row;
  const places = databasePaths(machine.place, id);
  // each request names its tree, so that changed files need no new pod
  const projectRoot = join(places.files_folder, NO_FILES);
  await moveFormerStorage(deps, id);
  openRuntimeFolder(places.run_folder, machine.pod_users);
  for (const folder of [places.folder, places.services_folder]) await makePassage(folder);
  for (const folder of [places.data_folder, places.log_folder, projectRoot]) await makeFolder(folder);
  const image = wanted.environment === null ? undefined : imageFolder(machine.place.home, orgId, wanted.environment);
  const [token, secrets, found] = await Promise.all([
    ensurePodToken({ db, envelope }, { id, org_id: orgId }),
    openSecrets(db, envelope, { org_id: orgId, database_id: id }),
    machine.findRuntime(image),
    machine.ensureTemplate(),
    wanted.tree === null ? undefined : machine.materializeTree(orgId, wanted.tree, places.files_folder, signal),
  ]);
  const spec = databasePodSpec({
    database: { id, org_id: orgId, uri },
    wanted,
    places,
    template_folder: machine.template_folder,
    postgres_bin: machine.postgres_bin,
    limits: machine.limits,
    token,
    secrets,
    runtime: { ...found.runtime, project_root: projectRoot },
    runtime_env: found.env,
    code_folders: [...found.folders, ...(image === undefined ? [] : [image])],
  });
  return { spec, token, socket: places.socket };
}
