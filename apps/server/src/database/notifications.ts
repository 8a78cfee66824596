import { logOutages } from "@appdb/engine/outages";
import type { Logger } from "@appdb/engine/ports";
import pg from "pg";

const CHANNELS = [
  "control_events",
  "control_operations",
  "control_keys",
  "control_lines",
  "control_databases",
  "control_service_routes",
  "control_certificates",
  "control_jobs",
] as const;
export type Channel = (typeof CHANNELS)[number];

const RETRY_MS = 500;
const SILENCE_MS = 20_000;

/**
 * Notifications from other transactions (NOTIFY), over one connection per server. It connects for the first listener.
 * Notifications are lost while it is disconnected. After a reconnect, every listener is called once without a payload.
 */
export interface Notifications extends AsyncDisposable {
  /** Calls back with the payload, or with undefined after a reconnect. Resolves once the listener misses nothing. */
  listen(channel: Channel, onMessage: (payload: string | undefined) => void): Promise<() => void>;
}

/** `options` are those of the server's pool. */
export function createNotifications(options: pg.PoolConfig, log: Logger): Notifications {
  const listeners = new Map<Channel, Set<(payload: string | undefined) => void>>(
    CHANNELS.map((name) => [name, new Set()]),
  );
  let connected: Promise<pg.Client> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const outages = logOutages(log);

  const tellAll = () => {
    for (const set of listeners.values()) for (const tell of set) tell(undefined);
  };
  const again = (error: unknown) => {
    connected = undefined;
    if (isClosed || timer !== undefined) return;
    const reason = error instanceof Error ? error.message : String(error);
    outages.failed(reason, { reason }, "the connection for notifications was lost; it will be opened again");
    timer = setTimeout(() => {
      timer = undefined;
      connect().then(tellAll, () => undefined);
    }, RETRY_MS);
  };
  const connect = () => {
    connected ??= open(options, {
      heard: (channel, payload) => {
        for (const [name, set] of listeners) if (name === channel) for (const tell of set) tell(payload);
      },
      lost: again,
    }).then(
      (client) => {
        outages.worked();
        return client;
      },
      (error: unknown) => {
        again(error);
        throw error;
      },
    );
    return connected;
  };

  return {
    async listen(channel, tell) {
      const set = listeners.get(channel);
      set?.add(tell);
      try {
        await connect();
      } catch (error) {
        set?.delete(tell);
        throw error;
      }
      return () => void set?.delete(tell);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(timer);
      const client = await connected?.catch(() => undefined);
      await client?.end();
    },
  };
}

interface Ears {
  heard(channel: string, payload: string): void;
  lost(error: unknown): void;
}

async function open(options: pg.PoolConfig, ears: Ears): Promise<pg.Client> {
  const client = new pg.Client({ ...options, keepAlive: true, application_name: "appdb notifications" });
  let isOpen = false;
  let failure: unknown;
  const lost = (error: unknown) => {
    failure ??= error;
    if (!isOpen) return;
    isOpen = false;
    clearInterval(pulse);
    ears.lost(error);
  };
  // a periodic query detects a dead connection
  const pulse = setInterval(() => {
    client.query("select 1").catch(lost);
  }, SILENCE_MS);
  pulse.unref();
  client.on("notification", ({ channel, payload }) => ears.heard(channel, payload ?? ""));
  // before it connects: PostgreSQL may end a connection with its first answer, and an error that no one hears ends the process
  client.on("error", lost);
  client.on("end", () => lost(new Error("The connection has ended.")));
  try {
    await client.connect();
    for (const channel of CHANNELS) await client.query(`listen ${channel}`);
    if (failure !== undefined) throw failure;
    isOpen = true;
    return client;
  } catch (error) {
    clearInterval(pulse);
    client.end().catch(() => undefined);
    throw error;
  }
}
