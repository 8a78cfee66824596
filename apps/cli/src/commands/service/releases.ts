import type { Release } from "@appdb/contract/routes/control-services";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { showControls } from "../../output/show-controls.ts";
import { takeAll } from "../account.ts";
import { HOSTED_SERVICE } from "../parameters.ts";
import { hostedAddress, requireHostedService } from "./change-service.ts";

interface ReleaseList {
  /** The running release; null when none is running. */
  readonly release: number | null;
  /** Newest first. */
  readonly releases: readonly Release[];
}

export const releases = defineCommand<JsonFlag, [name: string], ReleaseList>({
  brief: "List the stored releases of a hosted service",
  examples: [
    ["cli service releases cloud://acme:main/ingest", "the releases for a rollback"],
    ["cli service releases cloud://acme:main/ingest --json", "the same, for a program"],
  ],
  parameters: { positional: HOSTED_SERVICE },
  run: async (ctx, _flags, typed) => {
    const { params } = hostedAddress(requireHostedService(typed, "releases"));
    const { client } = await (await ctx.control()).open();
    const service = await client.call("serviceShow", { params }, { signal: ctx.signal });
    const list = await takeAll(client.each("releaseList", { params }, { signal: ctx.signal }));
    return { release: service.release, releases: list };
  },
  render: ({ release, releases: list }, out) => {
    const rows = list.map((one) => [
      `${one.number === release ? "*" : " "} ${one.number}`,
      one.created_at,
      showControls(one.created_by),
      one.app_file,
      `files ${one.files?.slice(0, 12) ?? "-"}`,
      `image ${one.image?.slice(0, 12) ?? "base library"}`,
      showControls([...(one.served_at === null ? ["never served"] : []), ...one.changes].join("; ")),
    ]);
    for (const line of alignColumns(rows)) out.line(line.trimEnd());
  },
});
