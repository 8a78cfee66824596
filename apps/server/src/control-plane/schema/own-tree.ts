import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { Database } from "../../database/pool.ts";
import type { FoundPod } from "../../pods/find-pod.ts";
import type { OrgOfDatabases } from "../databases/store.ts";
import { noFiles } from "./check-files.ts";

/** The files that a database runs. @throws project_files_differ when it has none */
export async function readOwnTree(
  db: Database,
  org: OrgOfDatabases,
  { pod, row }: FoundPod,
): Promise<{ readonly digest: string; readonly entries: readonly TreeEntry[] }> {
  const digest = row.observed?.tree ?? null;
  const tree =
    digest === null
      ? undefined
      : await db
          .selectFrom("control.trees")
          .select("entries")
          .where("org_id", "=", org.id)
          .where("digest", "=", digest)
          .executeTakeFirst();
  if (digest === null || tree === undefined) throw noFiles(pod.uri);
  return { digest, entries: tree.entries };
}
