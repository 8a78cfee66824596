import type { Target } from "@appdb/contract/names";
import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import type { HistoryEntry, TableChange } from "@appdb/contract/routes/table-changes";
import type { Context } from "../../context.ts";
import type { Output } from "../../output/output.ts";
import { findProject } from "../../project/find-project.ts";

/** The changes of single tables of a local or hosted database. */
export interface ChangeTarget {
  /** With `dry_run`, only plans. */
  change(change: TableChange, options: { readonly dry_run: boolean }): Promise<SchemaPlan>;
  history(query: { readonly table: string | undefined; readonly limit: number }): Promise<readonly HistoryEntry[]>;
}

/** Opens the database of a target. @throws errors of finding the daemon or the server */
export async function openChanges(ctx: Context, target: Target): Promise<ChangeTarget> {
  const options = { signal: ctx.signal };
  if (target.kind === "local") {
    const client = await ctx.daemon.ensure();
    const params = { db: target.database };
    // As requests of the library: outside of projects, the folder is that of other programs.
    const root = { project_root: findProject(ctx.cwd)?.root ?? ctx.cwd };
    return {
      change: async (change, { dry_run }) =>
        (await client.call("tableChange", { params, body: { change, dry_run, ...root } }, options)).plan,
      history: async (query) => (await client.call("historyList", { params, query }, options)).entries,
    };
  }
  const { client } = await (await ctx.control()).open();
  const params = { org: target.uri.organization, db: target.uri.database };
  return {
    change: async (change, { dry_run }) =>
      (await client.call("tableChange", { params, body: { change, dry_run } }, options)).plan,
    history: async (query) => (await client.call("historyList", { params, query }, options)).entries,
  };
}

/** The path of a folder within its database. */
export function folderIn({ folders }: Target): string {
  return folders.join("/");
}

/** The path of a table within its database. */
export function pathIn(target: Target, table: string): string {
  return [...target.folders, table].join("/");
}

/** The lines of a plan: each table and folder with what is done. */
export function linesOf(plan: SchemaPlan): readonly (readonly [path: string, op: PlanOp])[] {
  return [
    ...plan.tables.flatMap(({ ops, path }) => ops.map((op) => [path, op] as const)),
    ...plan.ops.map((op) => [op.name ?? plan.target, op] as const),
  ];
}

/** Names the services that a change breaks. */
export function noteBroken({ breaks = [] }: SchemaPlan, out: Output): void {
  for (const { service, tables } of breaks) out.note(`The running service ${service} uses ${tables.join(", ")}.`);
}
