import { parseTarget, type Target } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { OPTIONAL_TARGET } from "../parameters.ts";

/** A limit in force. */
interface Limit {
  readonly name: string;
  readonly value: number;
  /** The variable or the field of service.toml that changes it; null if nothing does. */
  readonly setting: string | null;
  /** Null for a limit without one. */
  readonly default: number | null;
}

interface Listed {
  readonly target: string | null;
  readonly limits: readonly Limit[];
}

export const limits = defineCommand<JsonFlag, [target?: string], Listed>({
  brief: "Show the limits in force and the settings that change them",
  examples: [
    ["cli limits", "of services of this machine, as its daemon read them"],
    ["cli limits cloud://acme:main --json", "of a hosted database, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [OPTIONAL_TARGET] } },
  run: async (ctx, _flags, typed) => {
    const target = typed === undefined ? undefined : parseTarget(typed);
    if (target?.kind === "hosted") return { target: target.uri.text, limits: await hostedLimits(ctx, target) };
    const client = await ctx.daemon.ensure();
    return { target: null, ...(await client.call("limitList", {}, { signal: ctx.signal })) };
  },
  render: ({ limits: listed, target }, out) => {
    const lines = listed.map(({ default: standard, name, setting, value }) => [
      name,
      value.toLocaleString("en"),
      setting ?? "fixed",
      standard === null || standard === value ? "" : `default ${standard.toLocaleString("en")}`,
    ]);
    for (const line of alignColumns(lines)) out.line(line);
    out.note(
      target === null
        ? "Set a variable for the daemon, then: cli daemon restart"
        : "Change the database's entry in service.toml, then: cli db update. The server's operator sets the limits of its services.",
    );
  },
});

/** The resources of a hosted database, and of its media in a bucket. */
async function hostedLimits(ctx: Context, { uri }: Target & { readonly kind: "hosted" }): Promise<Limit[]> {
  const { client } = await (await ctx.control()).open();
  const params = { org: uri.organization, db: uri.database };
  const { resources, usage } = await client.call("databaseShow", { params }, { signal: ctx.signal });
  const names = ["cpu", "memory_mb", "disk_gb", "workers"] as const;
  const media = usage?.media_limit_bytes ?? null;
  return [
    ...names.map((name): Limit => ({ name, value: resources[name], setting: name, default: null })),
    ...(media === null ? [] : [{ name: "media_gb", value: media / 1024 ** 3, setting: "media_gb", default: null }]),
  ];
}
