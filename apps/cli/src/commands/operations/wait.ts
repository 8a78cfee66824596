import { appError } from "@appdb/contract/errors";
import type { Operation } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { ORG_FLAG } from "../account.ts";
import { parseDuration } from "../parameters.ts";
import { askOperation } from "./ask-operation.ts";
import { hasEnded, OPERATION, printOperation } from "./print-operation.ts";

interface Flags extends JsonFlag {
  readonly timeout?: number;
  readonly org?: string;
}

/** Duration of one long-polling request. */
const WAIT_MS = 30_000;

/**
 * Exits with 0 on success, 1 when the operation failed, was cancelled or exceeds the timeout. Ctrl-C leaves it running.
 */
export const wait = defineCommand<Flags, [id: string], Operation>({
  brief: "Wait until an operation has ended",
  examples: [
    ["cli operations wait op_019a", "exits with 0 when it succeeded"],
    ["cli operations wait op_019a --timeout 10m --json", "with a timeout, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [OPERATION] },
    flags: {
      timeout: {
        kind: "parsed",
        parse: parseDuration,
        optional: true,
        brief: "Timeout: 10m, 1h; unlimited by default",
        placeholder: "time",
      },
      org: ORG_FLAG,
    },
  },
  run: async (ctx, flags, typed) => {
    const ends = performance.now() + (flags.timeout ?? Number.POSITIVE_INFINITY) * 1000;
    return await askOperation(ctx, { id: typed, org: flags.org }, async ({ client, org }, id) => {
      for (;;) {
        const waitMs = Math.max(0, Math.min(WAIT_MS, Math.ceil(ends - performance.now())));
        const input = { params: { org, id }, query: { wait_ms: waitMs } };
        const operation = await client.call("operationShow", input, { signal: ctx.signal });
        if (hasEnded(operation)) return operation;
        ctx.out.status(`${operation.kind} ${operation.target}: ${operation.state}`);
        if (performance.now() >= ends) throw stillRunning(operation);
      }
    });
  },
  render: printOperation,
  exitCode: ({ state }) => (state === "succeeded" ? EXIT.done : EXIT.failed),
});

function stillRunning({ id, kind, state, target }: Operation): Error {
  return appError("operation_running", {
    detail: `The operation ${kind} of ${target} has not ended within the timeout. It is ${state} and continues.`,
    hint: `Show it: cli operations show ${id}`,
    meta: { id, state },
  });
}
