import type { LogLine } from "@appdb/contract/routes/control-databases";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { describePodLine } from "../../output/log-line.ts";
import { formatAge } from "../../output/sizes.ts";
import { parseCountUpTo, parseDurationUpTo } from "../parameters.ts";
import { DATABASE, openDatabaseTarget } from "./database-target.ts";

interface Flags extends JsonFlag {
  readonly follow: boolean;
  readonly since?: number;
  readonly tail: number;
  readonly build: boolean;
}

/** With `--json`, prints one array; with `--json --follow`, one JSON object per line. */
export const logs = defineCommand<Flags, [uri?: string], LogLine[] | undefined>({
  brief: "Print the log of a database's pod, or of its builds",
  examples: [
    ["cli db logs cloud://acme:main", "the last 200 lines"],
    ["cli db logs cloud://acme:main -f --tail 20", "the last 20, then each new one until Ctrl-C"],
    ["cli db logs cloud://acme:main --since 1h", "those of the last hour"],
    ["cli db logs cloud://acme:main --build", "what its builds printed"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [DATABASE] },
    flags: {
      follow: { kind: "boolean", brief: "Follow new lines until Ctrl-C", default: false },
      since: {
        kind: "parsed",
        parse: parseDurationUpTo(365),
        optional: true,
        brief: "Only lines from this period: 30m, 1h, 2d",
        placeholder: "time",
      },
      tail: {
        kind: "parsed",
        parse: parseCountUpTo(10_000),
        default: "200",
        brief: "Number of last lines, at most 10000",
        placeholder: "number",
      },
      build: { kind: "boolean", brief: "The output of builds instead", default: false },
    },
    aliases: { f: "follow" },
  },
  run: async (ctx, { build, follow, json, since, tail }, typed) => {
    const { client, params } = await openDatabaseTarget(ctx, typed, "logs");
    const query = { source: build ? "build" : "pod", tail, follow: follow ? "1" : "0", since_s: since };
    const all: LogLine[] = [];
    let count = 0;
    for await (const line of client.lines("databaseLogs", { params, query }, ctx.signal)) {
      count += 1;
      if (!json) ctx.out.line(describePodLine(line));
      else if (follow) ctx.out.line(JSON.stringify(line));
      else all.push(line);
    }
    if (count === 0 && !json && !ctx.signal.aborted) {
      ctx.out.note(`No log records${since === undefined ? "" : ` in the last ${formatAge(since)}`}.`);
    }
    return json && !follow ? all : undefined;
  },
  // Lines for display are printed as they arrive.
  render: () => undefined,
  exitCode: (_result, _flags, ctx) => (ctx.signal.aborted ? EXIT.interrupted : EXIT.done),
});
