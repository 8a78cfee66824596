import type { CallAnswer } from "@appdb/contract/clients/control-client";
import type { Operation } from "@appdb/contract/routes/control";
import type { Database, LogLine } from "@appdb/contract/routes/control-databases";
import { waitForOperation } from "@appdb/system/control/wait-for-operation";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { databaseCells } from "../../output/database-text.ts";
import type { Output } from "../../output/output.ts";
import { showControls } from "../../output/show-controls.ts";
import { DATABASE, type DatabaseCommandTarget, NO_WAIT_FLAG, openDatabaseTarget } from "./database-target.ts";

export interface ChangeResult {
  /** State at the end of the command. */
  readonly database: Database;
  /** Null when there was nothing to do. */
  readonly operation: Operation | null;
}

interface Flags extends JsonFlag {
  readonly noWait: boolean;
}

type Verb = "start" | "stop" | "restart" | "retry" | "undelete";

interface ChangeDefinition {
  readonly verb: Verb;
  readonly brief: string;
  readonly examples: readonly (readonly [command: string, what: string])[];
  /** Message when there was nothing to do. */
  readonly nothing: string;
  /** The usual next command. */
  readonly next?: (uri: string) => string;
}

const ROUTES = {
  start: "databaseStart",
  stop: "databaseStop",
  restart: "databaseRestart",
  retry: "databaseRetry",
  undelete: "databaseUndelete",
} as const satisfies Record<Verb, string>;

/** A command that requests one change of a database and waits for it. */
export function defineChange({ brief, examples, next, nothing, verb }: ChangeDefinition) {
  return defineCommand<Flags, [uri?: string], ChangeResult>({
    brief,
    examples,
    parameters: { positional: { kind: "tuple", parameters: [DATABASE] }, flags: { noWait: NO_WAIT_FLAG } },
    run: async (ctx, flags, typed) => {
      const open = await openDatabaseTarget(ctx, typed, verb);
      const change = await open.client.call(ROUTES[verb], { params: open.params }, { signal: ctx.signal });
      return await finishChange(ctx, open, change, { wait: !flags.noWait });
    },
    render: ({ database, operation }, out) => {
      printChange({ database, operation }, out, nothing);
      if (next !== undefined && operation?.state === "succeeded") out.note(`next: ${next(database.uri)}`);
    },
  });
}

/** Waits for a requested change, unless there is none or `wait` is false. @throws the operation's error; interrupted */
export async function finishChange(
  ctx: Pick<Context, "out" | "signal">,
  { client, params }: DatabaseCommandTarget,
  { database, operation }: CallAnswer<"databaseStart">,
  options: {
    readonly wait: boolean;
    readonly onLine?: (line: LogLine) => void;
    /** Whether the database will be gone at the end. */
    readonly is_last?: boolean;
  },
): Promise<ChangeResult> {
  if (operation === null) return { database, operation };
  const { signal } = ctx;
  const { id } = operation;
  const { onLine } = options;
  if (!options.wait) {
    const current = await client.call("operationShow", { params: { org: params.org, id } }, { signal });
    return { database, operation: current };
  }
  const ended = await waitForOperation(client, {
    org: params.org,
    id,
    signal,
    ...(onLine === undefined ? {} : { onLine }),
    onRunning: ({ kind, state, target }) => ctx.out.status(`${kind} ${target}: ${state}`),
  });
  ctx.out.status("");
  if (options.is_last === true) return { database, operation: ended };
  return { database: await client.call("databaseShow", { params }, { signal }), operation: ended };
}

/** Prints `cloud://acme:main  AVAILABLE  ...`, and how to wait for an operation that still runs. */
export function printChange({ database, operation }: ChangeResult, out: Output, nothing: string): void {
  out.line(databaseCells(database).map(showControls).join("  ").trimEnd());
  if (operation === null) out.note(nothing);
  else if (operation.state === "pending" || operation.state === "running") {
    out.note(`It continues. Wait for it: cli operations wait ${operation.id}`);
  }
}
