import type { Key } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { showControls } from "../../output/show-controls.ts";
import { ORG_FLAG, openOrganization, takeAll } from "../account.ts";
import { describePermissions } from "./create.ts";

interface Flags extends JsonFlag {
  readonly long: boolean;
  readonly org?: string;
}

interface KeyList {
  readonly keys: readonly Key[];
}

/** Prints names only by default; answers never contain secrets. */
export const list = defineCommand<Flags, [], KeyList>({
  brief: "List API keys",
  examples: [
    ["cli key list", "their names"],
    ["cli key list -l", "with creators, permissions, last use and expiry"],
    ["cli key list --json", "with all of these, for a program"],
  ],
  parameters: {
    flags: {
      long: { kind: "boolean", brief: "Also print creators, permissions, last use and expiry", default: false },
      org: ORG_FLAG,
    },
    aliases: { l: "long" },
  },
  run: async (ctx, flags) => {
    const { client, org } = await openOrganization(ctx, flags.org);
    return { keys: await takeAll(client.each("keyList", { params: { org } }, { signal: ctx.signal })) };
  },
  render: ({ keys }, out, { long }) => {
    if (keys.length === 0) out.line("No keys.");
    const rows = keys.map((key) => [
      showControls(key.name),
      ...(long
        ? [
            key.last_used_at === null ? "never used" : `used ${key.last_used_at}`,
            key.expires_at === null ? "no end" : `ends ${key.expires_at}`,
            key.created_by === null ? "creator was deleted" : `created by ${showControls(key.created_by)}`,
            describePermissions(key),
          ]
        : []),
    ]);
    for (const line of alignColumns(rows)) out.line(line);
  },
});
