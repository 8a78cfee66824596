import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { formatBytes } from "../../output/sizes.ts";

/** Queries the server's PostgreSQL, so that it works even when the server hangs. */
export const status = defineCommand<JsonFlag, [], OperatorAnswer<"status">>({
  brief: "Show the state of this machine's server",
  examples: [
    ["cli server status", "databases and services by state, free disk"],
    ["cli server status --json", "the same for a program"],
  ],
  parameters: {},
  run: (ctx) => ctx.operate({ act: "status" }),
  render: (found, out) => {
    const suspended = found.suspended === 0 ? "" : `, ${found.suspended} suspended`;
    const silent = found.is_responding ? "" : " (does not respond)";
    const address = found.url === null ? "not listening" : `${found.url}${silent}`;
    out.line(`home ${found.home}, version ${found.version}, ${address}`);
    if (!found.is_responding) out.line("The server does not run or hangs. These are its last states:");
    out.line(`${count(found.organizations, "organization")}${suspended}`);
    out.line(`databases: ${states(found.databases)}`);
    out.line(`services: ${states(found.services)}`);
    if (found.disk_problem !== null) {
      out.line(`${found.disk_problem.code}: ${found.disk_problem.what} Free space on that disk.`);
    }
    out.line(
      `${count(found.operations_waiting, "operation")} waiting, ${formatBytes(found.free_disk_bytes)} of disk free`,
    );
  },
});

function states(counts: Readonly<Record<string, number>>): string {
  const all = Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1));
  return all.length === 0 ? "none" : all.map(([state, number]) => `${number} ${state}`).join(", ");
}
