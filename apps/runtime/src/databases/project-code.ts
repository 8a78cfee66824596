import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseTablePath } from "@appdb/contract/names";
import type { RecomputePlanRequest, RecomputeRequest } from "@appdb/contract/routes/local";
import { readRuntime } from "@appdb/engine/catalog/catalog-store";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { udfsOf } from "@appdb/engine/expressions/needs-python";
import { planRecompute } from "@appdb/engine/jobs/plan-recompute";
import type { TreeManifests } from "../code/tree-manifests.ts";
import type { TreeRuntimes } from "../code/tree-runtimes.ts";
import type { OpenByText } from "./open-known.ts";
import { toEngine } from "./recompute.ts";

export interface ProjectCodeDeps {
  readonly open: OpenByText;
  readonly runtimes: TreeRuntimes;
  readonly manifests: TreeManifests;
}

export type ProjectCode = Pick<RecomputeRequest, "runtime" | "manifest">;

const OF_LAST_UPDATE: ProjectCode = { runtime: null, manifest: null };

/**
 * Code that a recompute of a hosted table runs: the database's current project files, so that a corrected function
 * takes effect. When these lack some functions of the columns, as for tables of another project, it is the code of the
 * table's last update.
 * @throws table_not_found, column_not_found, invalid_request; errors of `TreeManifests.read` when the application file
 * cannot be read
 */
export async function readProjectCode(
  { open, runtimes, manifests }: ProjectCodeDeps,
  files: string | null,
  request: RecomputePlanRequest,
  signal: AbortSignal,
): Promise<ProjectCode> {
  const { sql } = await open(parseTablePath(request.table).target.text);
  const { table, columns, cascade } = planRecompute(await loadCatalog(sql), toEngine(request, undefined));
  const called = [...columns, ...cascade].flatMap(({ computed }) => (computed === null ? [] : udfsOf(computed.expr)));
  if (files === null || called.length === 0) return OF_LAST_UPDATE;
  const appFile = appFileOf(runtimes, await readRuntime(sql, table.id));
  const runtime = runtimes.of(files);
  if (appFile === null || !existsSync(join(runtime.project_root, appFile))) return OF_LAST_UPDATE;
  const manifest = await manifests.read(files, appFile, signal);
  const known = new Set(manifest.functions.map(({ id }) => id));
  return called.every((id) => known.has(id)) ? { runtime, manifest } : OF_LAST_UPDATE;
}

function appFileOf(runtimes: TreeRuntimes, id: string | null): string | null {
  return id === null ? null : (runtimes.find(id)?.app_file ?? null);
}
