import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import type { ServerConfig } from "../../config/config.ts";
import { databasePaths } from "../../pods/database-paths.ts";
import { materializeTree } from "../../storage/materialize-tree.ts";
import { storeTree } from "../../storage/store-tree.ts";
import type { OrgOfDatabases } from "../databases/databases-store.ts";
import type { FindPodDeps, FoundPod } from "../databases/find-pod.ts";

export interface StageUploadDeps extends FindPodDeps {
  readonly blobs: BlobStore;
  readonly config: Pick<ServerConfig, "home" | "quotas" | "runtime_base">;
}

/**
 * Writes uploaded files where the database's pod reads them, without changing the database. Returns the tree's digest.
 * @throws tree_invalid, blobs_missing, storage_quota, disk_full
 */
export async function stageUpload(
  deps: StageUploadDeps,
  org: OrgOfDatabases,
  { row }: FoundPod,
  entries: readonly TreeEntry[],
  signal: AbortSignal,
): Promise<string> {
  const { digest } = await deps.db
    .transaction()
    .execute((tx) => storeTree(tx, org.id, entries, deps.config.quotas.storage));
  const { files_folder: filesFolder } = databasePaths(deps.config, row.id);
  await materializeTree(deps, { org_id: org.id, digest, files_folder: filesFolder }, signal);
  return digest;
}
