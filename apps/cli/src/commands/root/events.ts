import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@appdb/contract/errors";
import type { AuditEvent } from "@appdb/contract/routes/control";
import type { Context, Control } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { showControls } from "../../output/show-controls.ts";
import { ORG_FLAG, openOrganization, takeFirst } from "../account.ts";
import { parseCount } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly follow: boolean;
  readonly limit: number;
  readonly org?: string;
}

/** Pause before a broken stream is resumed, and the maximum number of failures in a row. */
const RETRY_MS = 1_000;
const MAX_RETRIES = 10;

/** Prints the oldest first, like a log. With `--json --follow`, prints one JSON object per line. */
export const events = defineCommand<Flags, [], AuditEvent[] | undefined>({
  brief: "Read the audit log: who did what, when and from where",
  examples: [
    ["cli events", "the latest 50 events of the session's organization"],
    ["cli events --follow", "the same, then each new one until Ctrl-C"],
    ["cli events --org acme --limit 500 --json", "more of them, for a program"],
  ],
  parameters: {
    flags: {
      follow: { kind: "boolean", brief: "Follow new events until Ctrl-C", default: false },
      limit: {
        kind: "parsed",
        parse: parseCount,
        default: "50",
        brief: "Number of latest events",
        placeholder: "number",
      },
      org: ORG_FLAG,
    },
    aliases: { f: "follow" },
  },
  run: async (ctx, { follow, json, limit, org: named }) => {
    const control = await openOrganization(ctx, named);
    const { client, org } = control;
    const query = { limit: Math.min(limit, 200) };
    const latest = await takeFirst(client.each("eventList", { params: { org }, query }, { signal: ctx.signal }), limit);
    latest.sort((one, other) => compareIds(one.id, other.id));
    if (!follow) return latest;
    const print = (event: AuditEvent) => ctx.out.line(json ? JSON.stringify(event) : lineOf(event));
    for (const event of latest) print(event);
    await followEvents(ctx, control, latest.at(-1)?.id, print);
    return undefined;
  },
  render: (found, out) => {
    if (found.length === 0) out.line("No events.");
    for (const event of found) out.line(lineOf(event));
  },
  exitCode: (result, _flags, ctx) => (result === undefined && ctx.signal.aborted ? EXIT.interrupted : EXIT.done),
});

/** Prints events until Ctrl-C. A broken stream resumes after the last printed event. */
async function followEvents(
  ctx: Context,
  { client, org }: Control & { readonly org: string },
  from: string | undefined,
  print: (event: AuditEvent) => void,
): Promise<void> {
  let after = from;
  for (let retries = 0; !ctx.signal.aborted; retries += 1) {
    try {
      for await (const event of client.follow("eventList", { params: { org } }, after, ctx.signal)) {
        print(event);
        after = event.id;
        retries = 0;
      }
    } catch (error) {
      if (ctx.signal.aborted) return;
      if (!(error instanceof AppError) || error.code !== "server_unreachable" || retries >= MAX_RETRIES) throw error;
      if (retries === 0) ctx.out.note(`The stream broke and is resumed. ${error.message}`);
    }
    // Ctrl-C also ends the pause.
    await sleep(RETRY_MS, undefined, { signal: ctx.signal }).catch(() => undefined);
  }
}

/** `2026-11-22T10:00:00.000Z  key.create  ci  ann@example.com  succeeded  192.0.2.7` */
function lineOf(event: AuditEvent): string {
  const { action, actor, at, client, ip_address: ipAddress, outcome, target } = event;
  const from = [ipAddress, client].filter((part) => part !== null).join(" ");
  return [at, action, target, actor, outcome, from].map(showControls).join("  ").trimEnd();
}

/** Compares increasing ids: as numbers if they are numeric, otherwise by character. */
function compareIds(one: string, other: string): number {
  const [a, b] = [Number(one), Number(other)];
  if (Number.isFinite(a) && Number.isFinite(b)) return a - b;
  return one < other ? -1 : 1;
}
