import { existsSync } from "node:fs";
import { join } from "node:path";
import { giveRuntime, tablesWithoutRuntime } from "@appdb/engine/catalog/give-runtime";
import { hasCatalog, loadDefinitions } from "@appdb/engine/catalog/load-catalog";
import type { SqlPool } from "@appdb/engine/ports";
import type { HostedChangeCode } from "../code/hosted-change-code.ts";
import type { TreeRuntimes } from "../code/tree-runtimes.ts";

export interface GiveFilesDeps {
  readonly sql: SqlPool;
  readonly change_code: Pick<HostedChangeCode, "all">;
  readonly runtimes: Pick<TreeRuntimes, "of" | "save">;
}

/**
 * Gives a tree of project files to tables that call its modules and have no files: earlier versions added such columns to
 * databases without project files. Returns whether there were any. @throws blobs_missing
 */
export async function giveFiles({ change_code: code, runtimes, sql }: GiveFilesDeps, files: string): Promise<boolean> {
  const runtime = runtimes.of(files);
  const ids = code
    .all()
    .functions.filter(({ module }) => hasModule(runtime.project_root, module))
    .map(({ id }) => JSON.stringify(id));
  if (ids.length === 0 || !(await hasCatalog(sql))) return false;
  const waiting = await tablesWithoutRuntime(sql);
  if (waiting.size === 0) return false;
  const { tables, views } = await loadDefinitions(sql);
  const given = tables.filter((table) => {
    if (!waiting.has(table.id)) return false;
    const text = JSON.stringify([table, views.filter((view) => view.table_id === table.id)]);
    return ids.some((id) => text.includes(id));
  });
  if (given.length === 0) return false;
  await giveRuntime(
    sql,
    given.map(({ id }) => id),
    runtimes.save(runtime, null),
  );
  return true;
}

/** Whether a project has a module of its own. */
function hasModule(projectRoot: string, module: string): boolean {
  const path = join(projectRoot, module.replaceAll(".", "/"));
  return existsSync(`${path}.py`) || existsSync(join(path, "__init__.py"));
}
