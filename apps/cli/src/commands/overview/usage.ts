import type { Database } from "@appdb/contract/routes/control-databases";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { formatAge, formatBytes } from "../../output/sizes.ts";
import { ORG_FLAG, openOrganization, takeAll } from "../account.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** What a hosted database used, since its creation, and what it stores. */
interface Used {
  readonly name: string;
  readonly state: string;
  readonly cpu_seconds: number;
  readonly awake_seconds: number;
  /** Null before it was measured. */
  readonly disk_bytes: number | null;
  readonly media_bytes: number | null;
}

interface Usage {
  readonly organization: string;
  readonly databases: readonly Used[];
}

export const usage = defineCommand<Flags, [], Usage>({
  brief: "Show what the hosted databases of an organization used and store",
  examples: [
    ["cli usage", "of the session's organization"],
    ["cli usage --org acme --json", "of another one, for a program"],
  ],
  parameters: { flags: { org: ORG_FLAG } },
  run: async (ctx, { org: named }) => {
    const { client, org } = await openOrganization(ctx, named);
    const databases = await takeAll(client.each("databaseList", { params: { org } }, { signal: ctx.signal }));
    return { organization: org, databases: databases.map(usedBy) };
  },
  render: ({ databases, organization }, out) => {
    if (databases.length === 0) out.note(`${organization} has no databases.`);
    const bytes = (of: number | null) => (of === null ? "" : formatBytes(of));
    const sum = (key: "cpu_seconds" | "awake_seconds" | "disk_bytes" | "media_bytes") =>
      databases.reduce((total, database) => total + (database[key] ?? 0), 0);
    const all = ["together", "", formatAge(sum("cpu_seconds")), formatAge(sum("awake_seconds"))];
    const lines = [
      ["database", "state", "processors", "awake", "disk", "media"],
      ...databases.map((database) => [
        database.name,
        database.state,
        formatAge(database.cpu_seconds),
        formatAge(database.awake_seconds),
        bytes(database.disk_bytes),
        bytes(database.media_bytes),
      ]),
      [...all, formatBytes(sum("disk_bytes")), formatBytes(sum("media_bytes"))],
    ];
    for (const line of databases.length === 0 ? [] : alignColumns(lines)) out.line(line);
  },
});

function usedBy({ state, uri, usage: stored, used }: Database): Used {
  return {
    name: uri,
    state,
    cpu_seconds: used.cpu_seconds,
    awake_seconds: used.awake_seconds,
    disk_bytes: stored?.disk_bytes ?? null,
    media_bytes: stored?.media_bytes ?? null,
  };
}
