import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { ControlDatabase } from "../../database/pool.ts";
import type { OrgOfDatabases } from "../databases/databases-store.ts";
import type { FoundPod } from "../databases/find-pod.ts";
import { noFiles } from "./check-files.ts";

/** The files that a database runs. @throws project_files_differ if it has none */
export async function readDeployedTree(
  db: ControlDatabase,
  org: OrgOfDatabases,
  { pod, row }: FoundPod,
): Promise<{ readonly digest: string; readonly entries: readonly TreeEntry[] }> {
  const digest = row.observed?.tree ?? null;
  const entries = digest === null ? undefined : await readStoredTree(db, org, digest);
  if (digest === null || entries === undefined) throw noFiles(pod.uri);
  return { digest, entries };
}

/** The files of a tree. Undefined if the organization has no tree with this digest. */
export async function readStoredTree(
  db: ControlDatabase,
  org: OrgOfDatabases,
  digest: string,
): Promise<readonly TreeEntry[] | undefined> {
  const tree = await db
    .selectFrom("control.trees")
    .select("entries")
    .where("org_id", "=", org.id)
    .where("digest", "=", digest)
    .executeTakeFirst();
  return tree?.entries;
}
