import { parseName } from "@appdb/contract/names";
import type { OperatedDatabase, OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { showControls } from "../../output/show-controls.ts";
import { formatBytes } from "../../output/sizes.ts";
import { text } from "../parameters.ts";
import { ORG_OPTION } from "./org-option.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** Lists all databases with their services, and reasons for those that cannot start. */
export const databases = defineCommand<Flags, [], OperatorAnswer<"databases">>({
  brief: "List all databases and services of the server with their states",
  examples: [
    ["cli server databases", "of all organizations"],
    ["cli server databases --org acme", "of one"],
  ],
  parameters: { flags: { org: { ...ORG_OPTION, parse: text } } },
  run: (ctx, { org }) =>
    ctx.operate({ act: "databases", ...(org === undefined ? {} : { org: parseName("organization", org) }) }),
  render: ({ databases, disk_problem: problem }, out) => {
    if (problem !== null) out.line(`${problem.code}: ${problem.what}`);
    if (databases.length === 0) out.line("No databases.");
    for (const database of databases) for (const line of linesOf(database)) out.line(line);
  },
});

function linesOf(database: OperatedDatabase): string[] {
  const { failure, id, retry_at: retryAt, service_failures: failures, services, state, uri } = database;
  const lines = [`${uri}  ${state}  id=${id}`];
  if (database.is_disk_full) {
    const [used, limit] = [formatBytes(database.disk_bytes ?? 0), formatBytes(database.disk_limit_bytes ?? 0)];
    lines.push(`  FULL: ${used} of ${limit} are used, and writes are refused`);
  }
  if (failure !== null) lines.push(`  ${failure.code}: ${showControls(failure.detail)}`);
  if (retryAt !== null) lines.push(`  the server tries again at ${retryAt}`);
  for (const [name, of] of Object.entries(services)) {
    lines.push(`  /${name}  ${of}`);
    const reason = failures[name];
    if (reason !== undefined) lines.push(`    ${reason.code}: ${showControls(reason.detail)}`);
  }
  return lines;
}
