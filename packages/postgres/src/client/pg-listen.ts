import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { Client, type ClientConfig, escapeIdentifier } from "pg";
import { unavailableError } from "./pg-errors.ts";

const RELISTEN_DELAY_MS = 250;

export interface ListenInput {
  readonly config: ClientConfig;
  readonly channel: string;
  readonly onNotify: (payload: string) => void;
  readonly signal: AbortSignal;
  readonly log: Logger | undefined;
}

/**
 * Listens on a separate connection until the signal aborts. Resolves once the first LISTEN succeeded. A broken
 * connection is reopened as often as needed; `onNotify("")` then reports that messages may have been missed.
 * @throws database_unavailable when the first connection fails
 */
export async function listenOn(input: ListenInput): Promise<void> {
  const first = await openListener(input).catch((error: unknown) => {
    throw unavailableError(error);
  });
  void listenWithRetry(input, first);
}

interface Listener {
  readonly ended: Promise<void>;
}

async function listenWithRetry(input: ListenInput, first: Listener): Promise<void> {
  let listener: Listener | undefined = first;
  while (!input.signal.aborted) {
    await listener?.ended;
    await sleep(RELISTEN_DELAY_MS, undefined, { signal: input.signal }).catch(() => undefined);
    if (input.signal.aborted) return;
    listener = await openListener(input).catch((error: unknown) => {
      input.log?.debug(
        { channel: input.channel, error: String(error) },
        "listening to PostgreSQL failed, trying again",
      );
      return undefined;
    });
    if (listener !== undefined) input.onNotify("");
  }
}

async function openListener(input: ListenInput): Promise<Listener> {
  const client = new Client({ ...input.config, keepAlive: true });
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  // The 'end' event follows; an unhandled 'error' event would end the process.
  client.on("error", (error) => input.log?.debug({ error: error.message }, "listening connection lost"));
  client.on("notification", (message) => {
    if (!input.signal.aborted) input.onNotify(message.payload ?? "");
  });
  const close = (): void => void client.end();
  try {
    await client.connect();
    await client.query(`listen ${escapeIdentifier(input.channel)}`);
  } catch (error) {
    close();
    throw error;
  }
  input.signal.addEventListener("abort", close, { once: true });
  void ended.then(() => input.signal.removeEventListener("abort", close));
  if (input.signal.aborted) close();
  return { ended };
}
