import type { ControlClient } from "@appdb/contract/clients/control-client";
import { appError } from "@appdb/contract/errors";
import { parseServiceName, type ServiceName } from "@appdb/contract/names";
import type { LogLine } from "@appdb/contract/routes/control-databases";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { describeLogLine, describePodLine } from "../../output/log-line.ts";
import { formatAge } from "../../output/sizes.ts";
import { parseCountUpTo, parseDurationUpTo, text } from "../parameters.ts";
import { hostedAddress } from "./change-service.ts";

interface Flags extends JsonFlag {
  readonly follow: boolean;
  readonly tail: number;
  readonly since?: number;
  readonly search?: string;
  readonly route?: string;
  readonly requestId?: string;
  readonly includeHealth: boolean;
}

interface LogResult {
  readonly name: string;
  readonly catalog_path: string;
  readonly lines: readonly (string | LogLine)[];
}

/** With `--json`, prints one object; with `--json --follow`, one JSON line per log line. */
export const logs = defineCommand<Flags, [name: string], LogResult | undefined>({
  brief: "Print a service's log",
  examples: [
    ["cli service logs main/ingest", "the last 200 lines"],
    ["cli service logs main/ingest -f --tail 20", "the last 20, then each new one until Ctrl-C"],
    ["cli service logs cloud://acme:main/ingest --since 1h --route /docs", "requests to a route of a hosted service"],
    ["cli service logs cloud://acme:main/ingest --request-id req-5", "the lines of one request"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The service with its target: main/ingest", placeholder: "NAME", parse: text }],
    },
    flags: {
      follow: { kind: "boolean", brief: "Follow new lines until Ctrl-C", default: false },
      tail: {
        kind: "parsed",
        parse: parseCountUpTo(10_000),
        brief: "Number of last lines, at most 10000",
        placeholder: "number",
        default: "200",
      },
      since: {
        kind: "parsed",
        parse: parseDurationUpTo(365),
        optional: true,
        brief: "Of a hosted service: only lines from this period: 30m, 1h, 2d",
        placeholder: "time",
      },
      search: hostedText("only lines with this text", "text"),
      route: hostedText("only requests to this path", "path"),
      requestId: hostedText("only lines of this request", "id"),
      includeHealth: { kind: "boolean", brief: "Of a hosted service: include health checks", default: false },
    },
    aliases: { f: "follow" },
  },
  run: async (ctx, flags, typed) => {
    const address = parseServiceName(typed);
    const lines: (string | LogLine)[] = [];
    let count = 0;
    try {
      for await (const line of readLines(ctx, address, flags)) {
        count += 1;
        if (!flags.json) ctx.out.line(typeof line === "string" ? describeLogLine(line) : describePodLine(line));
        else if (flags.follow) ctx.out.line(JSON.stringify(line));
        else lines.push(line);
      }
    } catch (error) {
      // Ctrl-C ends following without a message.
      if (!flags.follow || !ctx.signal.aborted) throw error;
    }
    if (count === 0 && !flags.json && !ctx.signal.aborted && address.target.kind === "hosted") {
      ctx.out.note(`No log records${flags.since === undefined ? "" : ` in the last ${formatAge(flags.since)}`}.`);
    }
    const { service: name, target } = address;
    return flags.json && !flags.follow ? { name, catalog_path: target.text, lines } : undefined;
  },
  // Lines for display are printed as they arrive.
  render: () => undefined,
  exitCode: (_result, _flags, ctx) => (ctx.signal.aborted ? EXIT.interrupted : EXIT.done),
});

function hostedText(what: string, placeholder: string) {
  return { kind: "parsed", parse: text, optional: true, brief: `Of a hosted service: ${what}`, placeholder } as const;
}

async function* readLines(ctx: Context, address: ServiceName, flags: Flags): AsyncGenerator<string | LogLine> {
  const { follow, tail } = flags;
  if (address.target.kind === "local") {
    refuseHostedOptions(address, flags);
    const client = await ctx.daemon.ensure();
    const query = { name: address.text, tail, follow: follow ? "1" : "0" };
    for await (const { line } of client.lines("serviceLogs", { query }, ctx.signal)) yield line;
    return;
  }
  const { client } = await (await ctx.control()).open();
  yield* readHosted(client, address, flags, ctx.signal);
}

function readHosted(
  client: ControlClient,
  address: ServiceName,
  { follow, includeHealth, requestId, route, search, since, tail }: Flags,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  const query = {
    tail,
    since_s: since,
    search,
    route,
    request_id: requestId,
    follow: follow ? "1" : "0",
    include_health: includeHealth ? "1" : "0",
  };
  return client.lines("serviceLogs", { ...hostedAddress(address), query }, signal);
}

/** @throws usage for options that the log of a local service does not support */
function refuseHostedOptions({ text: name }: ServiceName, flags: Flags): void {
  const hostedOptions = Object.entries({
    "--since": flags.since,
    "--search": flags.search,
    "--route": flags.route,
    "--request-id": flags.requestId,
    "--include-health": flags.includeHealth || undefined,
  }).flatMap(([option, value]) => (value === undefined ? [] : [option]));
  if (hostedOptions.length === 0) return;
  throw appError("usage", {
    detail: `${hostedOptions.join(", ")}: for hosted services; ${name} is a local one, whose log is a file.`,
    hint: `Omit these options: cli service logs ${name}`,
    meta: { service: name },
  });
}
