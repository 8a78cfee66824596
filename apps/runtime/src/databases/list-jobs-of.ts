import type { JobRecord } from "@appdb/contract/jobs";
import { listJobs } from "@appdb/engine/background/list-jobs";
import { folderSchema } from "@appdb/engine/target";
import type { DataSource } from "./data-handlers.ts";
import { findPlace } from "./find-place.ts";

interface JobsOf extends Pick<DataSource, "sql" | "uri"> {
  /** Of a folder or a table within the database; empty for all. */
  readonly path: string;
  /** Includes ended jobs. */
  readonly all: boolean;
}

/** Jobs of a database, folder or table, latest first. A view's columns are those of its table. @throws table_not_found */
export async function listJobsOf({ all, path, ...source }: JobsOf): Promise<readonly JobRecord[]> {
  const { sql, uri } = source;
  if (path === "") return await listJobs(sql, { database: uri, folder: null, all });
  const place = await findPlace(source, path);
  if ("folder" in place) return await listJobs(sql, { database: uri, folder: folderSchema(`${uri}/${path}`), all });
  const { table } = place;
  return await listJobs(sql, { database: uri, folder: null, table_id: (table.view?.table ?? table).id, all });
}
