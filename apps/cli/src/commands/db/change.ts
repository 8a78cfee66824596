import type { CallAnswer } from "@appdb/contract/clients/control-client";
import type { Operation } from "@appdb/contract/routes/control";
import type { Database, LogLine } from "@appdb/contract/routes/control-databases";
import type { Context } from "../../context.ts";
import { waitForOperation } from "../../control/wait-for-operation.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { databaseCells } from "../../output/database-text.ts";
import type { Output } from "../../output/output.ts";
import { showControls } from "../../output/show-controls.ts";
import { DATABASE, type DatabaseCommandTarget, NO_WAIT_FLAG, openDatabaseTarget } from "./database-target.ts";

export interface ChangeResult {
  /** As it is when the command ends. */
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
  /** What is said when there was nothing to do. */
  readonly nothing: string;
  /** The command that usually follows. */
  readonly next?: (uri: string) => string;
}

const ROUTES = {
  start: "databaseStart",
  stop: "databaseStop",
  restart: "databaseRestart",
  retry: "databaseRetry",
  undelete: "databaseUndelete",
} as const satisfies Record<Verb, string>;

/** A command that asks for one change of a database and waits until it is so. */
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

/** Waits for what was asked of a database, unless nothing was or `wait` is false. @throws what made it fail; interrupted */
export async function finishChange(
  ctx: Pick<Context, "out" | "signal">,
  { client, params }: DatabaseCommandTarget,
  { database, operation }: CallAnswer<"databaseStart">,
  given: {
    readonly wait: boolean;
    readonly onLine?: (line: LogLine) => void;
    /** The database will be gone then. */
    readonly is_last?: boolean;
  },
): Promise<ChangeResult> {
  if (operation === null) return { database, operation };
  const { signal } = ctx;
  const { id } = operation;
  const { onLine } = given;
  if (!given.wait) {
    const asked = await client.call("operationShow", { params: { org: params.org, id } }, { signal });
    return { database, operation: asked };
  }
  const ended = await waitForOperation(client, {
    org: params.org,
    id,
    signal,
    ...(onLine === undefined ? {} : { onLine }),
    onRunning: ({ kind, state, target }) => ctx.out.status(`${kind} ${target}: ${state}`),
  });
  ctx.out.status("");
  if (given.is_last === true) return { database, operation: ended };
  return { database: await client.call("databaseShow", { params }, { signal }), operation: ended };
}

/** `cloud://acme:main  AVAILABLE  ...`, and how to wait for what was not waited for. */
export function printChange({ database, operation }: ChangeResult, out: Output, nothing: string): void {
  out.line(databaseCells(database).map(showControls).join("  ").trimEnd());
  if (operation === null) out.note(nothing);
  else if (operation.state === "pending" || operation.state === "running") {
    out.note(`It continues. Wait for it: cli operations wait ${operation.id}`);
  }
}
