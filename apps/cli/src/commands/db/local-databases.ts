import { appError } from "@appdb/contract/errors";
import type { LocalDatabase, LocalDeletion } from "@appdb/contract/routes/local";
import type { Context } from "../../context.ts";
import { alignColumns } from "../../output/columns.ts";
import { commandLine } from "../../output/command-line.ts";
import { count, countTables } from "../../output/count.ts";
import type { Output } from "../../output/output.ts";
import { formatBytes } from "../../output/sizes.ts";

/** Prints the databases of this machine with their contents, projects and services. */
export function printLocalDatabases(databases: readonly LocalDatabase[], out: Output): void {
  if (databases.length === 0) out.line("No local databases. Create one with: cli schema update app.py main");
  const rows = databases.map(({ bytes, media_bytes: mediaBytes, name, projects, services, tables, views }) => [
    name,
    countTables(tables, views),
    mediaBytes === 0 ? formatBytes(bytes) : `${formatBytes(bytes)} and ${formatBytes(mediaBytes)} of files`,
    services.map((service) => `${service.name} ${service.state}`).join(", "),
    projects.join(", "),
  ]);
  for (const line of alignColumns(rows)) out.line(line);
}

/**
 * Deletes a local database after the user typed its name or passed `-f`.
 * @throws database_not_found, service_state while a service runs, confirmation_required
 */
export async function deleteLocal(ctx: Context, database: string, force: boolean): Promise<LocalDeletion> {
  const client = await ctx.daemon.ensure();
  const found = await client.call(
    "databaseDelete",
    { body: { name: database, dry_run: true } },
    { signal: ctx.signal },
  );
  for (const { path, rows } of found.tables) ctx.out.note(`- ${path}  ${count(rows, "row")}`);
  for (const service of found.services) ctx.out.note(`- the stopped service ${service} is removed`);
  await askForName(ctx, {
    name: database,
    question: `Permanently delete the local database ${database} with ${count(found.tables.length, "table")}?`,
    force,
    again: commandLine(["db", "delete", database, "-f"]),
  });
  return await client.call("databaseDelete", { body: { name: database, dry_run: false } }, { signal: ctx.signal });
}

/**
 * Asks for a name before a permanent deletion.
 * @throws confirmation_required without a terminal, or for another name
 */
export async function askForName(
  ctx: Pick<Context, "prompt">,
  input: { readonly name: string; readonly question: string; readonly force: boolean; readonly again: string },
): Promise<void> {
  const { again, force, name } = input;
  if (force) return;
  const question = `${input.question} Type its name, ${name}`;
  if (ctx.prompt === undefined) {
    throw appError("confirmation_required", {
      detail: `Confirmation is required, but there is no terminal: ${question}`,
      hint: `To confirm in advance: ${again}`,
      meta: { next: again },
    });
  }
  if ((await ctx.prompt.text(question)).trim() === name) return;
  throw appError("confirmation_required", {
    detail: "The name you typed does not match. Nothing was deleted.",
    hint: `To skip the question: ${again}`,
    meta: { next: again },
  });
}
