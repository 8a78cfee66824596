import { AppError } from "@appdb/contract/errors";
import type { PodSpec } from "@appdb/pods/driver/pod-driver";
import type { ObservedDatabase } from "../../database/desired.ts";
import type { OperationError } from "../../operations/run-operation.ts";
import { databasePod } from "../../pods/database-paths.ts";
import { databasePodSpec } from "../../pods/database-pod-spec.ts";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { ensurePodToken } from "../../pods/pod-token.ts";
import { openSecrets } from "../../secrets/secret-store.ts";
import { toFailure } from "../core/failures.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import type { DatabaseSnapshot } from "./database-resource.ts";
import { moveFormerStorage } from "./move-former-storage.ts";

export interface PreparedPod {
  readonly spec: PodSpec;
  readonly address: PodAddress;
}

/** Prepares everything that a pod needs before its start. Returns its spec, or the reason of a failure. */
export async function preparePod(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  desired: ObservedDatabase,
  signal: AbortSignal,
): Promise<PreparedPod | OperationError> {
  try {
    return await prepare(deps, snapshot, desired, signal);
  } catch (error) {
    if (error instanceof AppError && !signal.aborted) return toFailure(error);
    throw error;
  }
}

async function prepare(
  deps: ReconcileDeps,
  { row, uri }: DatabaseSnapshot,
  desired: ObservedDatabase,
  signal: AbortSignal,
): Promise<PreparedPod> {
  const { db, envelope, machine } = deps;
  const { id, org_id: orgId } = row;
  const { driver } = machine;
  await moveFormerStorage(deps, id);
  const [token, secrets, found] = await Promise.all([
    ensurePodToken({ db, envelope }, { id, org_id: orgId }),
    openSecrets(db, envelope, { org_id: orgId, database_id: id }),
    machine.findRuntime({ org_id: orgId, hash: desired.environment }),
    machine.ensureTemplate(),
    desired.tree === null
      ? undefined
      : machine.materializeTree({ org_id: orgId, database_id: id, digest: desired.tree }, signal),
  ]);
  const spec = databasePodSpec({
    database: { id, org_id: orgId, uri },
    desired,
    target: driver.target,
    template_folder: machine.template_folder,
    postgres_bin: machine.postgres_bin,
    limits: machine.limits,
    token,
    has_bucket: deps.bucket !== undefined,
    default_media_gb: deps.bucket?.default_gb,
    disk_floor_bytes: deps.config.quotas.storage.floor_bytes,
    secrets,
    // each request to the pod names its tree: changed files need no new pod
    runtime: {
      ...found.runtime,
      project_root: driver.target({ kind: "project-tree", database_id: id, digest: null }),
    },
    runtime_env: found.env,
  });
  const { api } = await driver.endpoints(databasePod(id));
  return { spec, address: { endpoint: api, token } };
}
