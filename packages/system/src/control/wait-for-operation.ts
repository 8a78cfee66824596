import { setTimeout as sleep } from "node:timers/promises";
import type { ControlClient } from "@appdb/contract/clients/control-client";
import { AppError, appError, isErrorCode } from "@appdb/contract/errors";
import type { Operation } from "@appdb/contract/routes/control";
import type { LogLine } from "@appdb/contract/routes/control-databases";

export interface WaitInput {
  readonly org: string;
  readonly id: string;
  /** Ends the watching; the operation continues. */
  readonly signal: AbortSignal;
  /** Receives lines of the operation's output; without it none are requested. */
  readonly onLine?: (line: LogLine) => void;
  /** Called each time the server reports that the operation still runs. */
  readonly onRunning?: (operation: Operation) => void;
  /** Maximum number of retries in a row while the server is away. */
  readonly retries?: number;
}

/** Duration of one long-polling request. */
const WAIT_MS = 30_000;
/** A restarting server resumes the operation, so it may be away for this long. */
const RETRY_MS = 1_000;
const MAX_RETRIES = 30;
/** Time for remaining output after the operation has ended. */
const LATE_MS = 5_000;
/** Number of last lines in an error. */
const LAST_LINES = 20;

/**
 * Waits until an operation has succeeded, without a timeout, and passes on its output.
 * @throws the operation's error, with the last lines of its output in `meta`; operation_cancelled; interrupted, with
 * the command that continues waiting; commit_unknown when the server stays away
 */
export async function waitForOperation(client: ControlClient, input: WaitInput): Promise<Operation> {
  const { id, onLine, signal } = input;
  const last: string[] = [];
  const ended = new AbortController();
  const reading = new AbortController();
  const keep = (line: LogLine) => {
    last.push(line.line);
    if (last.length > LAST_LINES) last.shift();
    onLine?.(line);
  };
  const signals = { ended: ended.signal, reading: AbortSignal.any([reading.signal, signal]) };
  const read = onLine === undefined ? undefined : readOutput(client, input, signals, keep);
  try {
    const operation = await pollOperation(client, input);
    ended.abort();
    // the last lines arrive with the end of the stream
    await Promise.race([read, sleep(LATE_MS, undefined, { signal: reading.signal, ref: false })]);
    if (operation.state === "succeeded") return operation;
    throw operation.state === "cancelled" ? wasCancelled(operation) : failureOf(operation, last);
  } catch (error) {
    if (signal.aborted) throw operationContinues(id, error);
    throw isUnreachable(error) ? outcomeUnknown(id, error) : error;
  } finally {
    ended.abort();
    reading.abort();
    await read;
  }
}

async function pollOperation(client: ControlClient, input: WaitInput): Promise<Operation> {
  const { id, onRunning, org, retries, signal } = input;
  for (;;) {
    const request = { params: { org, id }, query: { wait_ms: WAIT_MS } };
    const operation = await readWithRetry(signal, () => client.call("operationShow", request, { signal }), retries);
    if (operation.state !== "pending" && operation.state !== "running") return operation;
    onRunning?.(operation);
  }
}

/**
 * Reads the output until the operation has ended. A broken stream resumes after the last line; a refused one is
 * skipped.
 */
async function readOutput(
  client: ControlClient,
  { id, org }: WaitInput,
  signals: { readonly ended: AbortSignal; readonly reading: AbortSignal },
  onLine: (line: LogLine) => void,
): Promise<void> {
  let after = 0;
  const follow = async () => {
    const query = { after, follow: "1" };
    for await (const line of client.lines("operationLog", { params: { org, id }, query }, signals.reading)) {
      after = line.number;
      onLine(line);
    }
  };
  try {
    while (!signals.ended.aborted && !signals.reading.aborted) {
      await readWithRetry(signals.reading, follow);
      await pause(signals.ended);
    }
  } catch (error) {
    // The operation itself reports how it ended, even to callers who may not read its output.
    if (!(error instanceof AppError)) throw error;
  }
}

/** Retries a read-only request while the server is unreachable. */
async function readWithRetry<T>(signal: AbortSignal, read: () => Promise<T>, most = MAX_RETRIES): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await read();
    } catch (error) {
      if (!isUnreachable(error) || retries >= most || signal.aborted) throw error;
    }
    await pause(signal);
  }
}

/** Also ends with the signal. */
async function pause(signal: AbortSignal): Promise<void> {
  await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
}

function isUnreachable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "server_unreachable";
}

/** The operation was requested, and a server that starts again continues it. */
function outcomeUnknown(id: string, cause: AppError): AppError {
  return appError("commit_unknown", {
    detail: `The operation ${id} was requested, and its outcome is unknown. ${cause.message}`,
    hint: `A server that starts again continues it. Then look: cli operations show ${id}`,
    meta: { operation: id },
    cause,
  });
}

function operationContinues(id: string, cause: unknown): AppError {
  return appError("interrupted", {
    detail: "The command was interrupted. The operation continues.",
    hint: `Wait for it: cli operations wait ${id}`,
    meta: { operation: id },
    cause,
  });
}

function wasCancelled({ id, kind, target }: Operation): AppError {
  return appError("operation_cancelled", {
    detail: `${kind} of ${target} was cancelled or replaced by another request.`,
    hint: `See the events: cli events   and the current state: cli db status ${target}`,
    meta: { operation: id },
  });
}

function failureOf({ error, id, kind, target }: Operation, output: readonly string[]): AppError {
  const meta = { operation: id, ...(output.length === 0 ? {} : { output }) };
  return appError(error !== null && isErrorCode(error.code) ? error.code : "server_failed", {
    detail: error?.detail ?? `${kind} of ${target} failed.`,
    hint: error?.hint ?? `See its details: cli operations show ${id}`,
    meta,
  });
}
