import { parseServiceName } from "@appdb/contract/names";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { describeLogLine } from "../../output/log-line.ts";
import { parseCount, requireLocal, text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly follow: boolean;
  readonly tail: number;
}

interface LogResult {
  readonly name: string;
  readonly catalog_path: string;
  readonly lines: readonly string[];
}

/** With `--json` one object; with `--json --follow` one JSON string a line, for there is no end. */
export const logs = defineCommand<Flags, [name: string], LogResult | undefined>({
  brief: "Print a service's log",
  examples: [
    ["cli service logs main/ingest", "the last 200 lines"],
    ["cli service logs main/ingest -f --tail 20", "the last 20, then each new one until Ctrl-C"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The service with its target: main/ingest", placeholder: "NAME", parse: text }],
    },
    flags: {
      follow: { kind: "boolean", brief: "Go on with new lines until Ctrl-C", default: false },
      tail: {
        kind: "parsed",
        parse: parseCount,
        brief: "How many of the last lines",
        placeholder: "number",
        default: "200",
      },
    },
    aliases: { f: "follow" },
  },
  run: async (ctx, flags, typed) => {
    const address = parseServiceName(typed);
    requireLocal(address.target.text, "service logs");
    const client = await ctx.daemon.ensure();
    const request = { name: address.text, tail: flags.tail, follow: flags.follow };
    const lines: string[] = [];
    try {
      for await (const line of client.serviceLogs(request, { signal: ctx.signal })) {
        if (!flags.json) ctx.out.line(describeLogLine(line));
        else if (flags.follow) ctx.out.line(JSON.stringify(line));
        else lines.push(line);
      }
    } catch (error) {
      // Ctrl-C is how following ends; there is nothing to say about it.
      if (!flags.follow || !ctx.signal.aborted) throw error;
    }
    const { service: name, target } = address;
    return flags.json && !flags.follow ? { name, catalog_path: target.text, lines } : undefined;
  },
  // A person's lines are printed as they come.
  render: () => undefined,
  exitCode: (_result, _flags, ctx) => (ctx.signal.aborted ? EXIT.interrupted : EXIT.done),
});
