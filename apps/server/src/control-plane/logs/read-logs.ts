import type { LogLine } from "@appdb/contract/routes/control-databases";
import type { PodAccess } from "@appdb/pods/driver/pod-driver";
import type { Channel, Notifications } from "../../database/notifications.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { findOperation, hasEnded } from "../operations/operations-store.ts";
import { type BuildPosition, readBuildLines, readLastBuildLines, readOperationLines } from "./logs-store.ts";

/** Wakes a waiting reader when its channel is notified. */
interface ChannelListener extends AsyncDisposable {
  /** Resolves after a notification since the last call, or when the signal aborts. */
  wait(signal: AbortSignal): Promise<void>;
}

/** Listens on channels for one payload, or for any. Misses no notification after it resolves. */
async function openChannelListener(
  notifications: Notifications,
  channels: readonly Channel[],
  payload?: string,
): Promise<ChannelListener> {
  let hasRung = false;
  let wake = () => {};
  const onMessage = (found: string | undefined) => {
    if (found !== undefined && payload !== undefined && found !== payload) return;
    hasRung = true;
    wake();
  };
  const stops = await Promise.all(channels.map((channel) => notifications.listen(channel, onMessage)));
  return {
    async wait(signal) {
      const over = () => wake();
      signal.addEventListener("abort", over);
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (hasRung || signal.aborted) resolve();
      });
      signal.removeEventListener("abort", over);
      hasRung = false;
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
    },
  };
}

export interface LogDeps {
  readonly db: ControlDatabase;
  readonly notifications: Notifications;
  readonly pod_access: Pick<PodAccess, "logs">;
}

export interface LogInput {
  readonly tail: number;
  readonly since_s: number | undefined;
  readonly follow: boolean;
}

/** The lines of an operation after a given one. With `follow`, until the operation ends. */
export async function* readOperationLog(
  { db, notifications }: LogDeps,
  operation: { readonly id: string; readonly org_id: string },
  { after, follow }: { readonly after: number; readonly follow: boolean },
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  await using bell = await openChannelListener(notifications, ["control_lines", "control_operations"], operation.id);
  let last = after;
  while (!signal.aborted) {
    // read the state first: an operation writes all lines before it ends
    const isEnded = !follow || hasEnded(await findOperation(db, operation.org_id, operation.id));
    const lines = await readOperationLines(db, operation.id, last);
    yield* lines;
    last = lines.at(-1)?.number ?? last;
    if (lines.length > 0) continue;
    if (isEnded) return;
    await bell.wait(signal);
  }
}

/** The output of a database's builds, one operation after the other. */
export async function* readBuildLog(
  { db, notifications }: LogDeps,
  databaseId: string,
  input: LogInput,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  await using bell = await openChannelListener(notifications, ["control_lines"]);
  const first = await readLastBuildLines(db, databaseId, input);
  yield* first.lines;
  let position: BuildPosition | undefined = first.last ?? (await readLastBuildLines(db, databaseId, LAST)).last;
  while (input.follow && !signal.aborted) {
    const { last, lines } = await readBuildLines(db, databaseId, position);
    yield* lines;
    position = last ?? position;
    if (lines.length === 0) await bell.wait(signal);
  }
}

const LAST = { tail: 1, since_s: undefined };

/** The past and new output of a database's pod. */
export async function* readDatabaseLog(
  { pod_access: podAccess }: Pick<LogDeps, "pod_access">,
  databaseId: string,
  { follow, since_s: sinceS, tail }: LogInput,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const since = sinceS === undefined ? {} : { since: new Date(Date.now() - sinceS * 1_000) };
  const log = { database_id: databaseId, service_id: null };
  for await (const line of podAccess.logs(log, { tail, ...since, follow, signal })) yield { number: 0, ...line };
}
