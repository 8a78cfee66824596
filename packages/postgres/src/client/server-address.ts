import { isIP, Socket, type SocketConnectOpts } from "node:net";
import { isForeignAddress, publicLookup } from "@appdb/system/network/public-addresses";
import type { ClientConfig } from "pg";

const DEFAULT_PORT = 5432;
/** A name of DNS or an address of IPv4; no folder, no list, nothing that is percent-encoded. */
const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*)$/;
const SCHEMES = ["postgres:", "postgresql:"];
/** What each `sslmode` asks of TLS. The driver knows no weaker check than the whole one where it encrypts. */
const SSL_MODES: Readonly<Record<string, ClientConfig["ssl"]>> = {
  disable: false,
  "no-verify": { rejectUnauthorized: false },
  prefer: {},
  require: {},
  "verify-ca": {},
  "verify-full": {},
};
const CHANNEL_BINDINGS = ["disable", "prefer", "require"];
/** Every parameter that an address may have. */
const PARAMETERS = ["application_name", "channel_binding", "sslmode"];

/** A PostgreSQL server over TCP, as fields: no text of it is ever parsed by the driver. */
export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly ssl: ClientConfig["ssl"];
  readonly application_name: string | undefined;
  readonly binds_channel: boolean;
  /** It is connected to on the internet alone; else also on this machine and in private networks. */
  readonly is_public: boolean;
}

/** Why an address is refused; without its text, which may hold a password. */
export interface RefusedAddress {
  /** The end of a sentence: `names no TCP host`. */
  readonly problem: string;
}

/**
 * Reads `postgresql://user:password@host:5432/database` of somebody who is not trusted: one TCP host, known parameters. Unless
 * `allow_private`, a host that is this machine or in a private network is refused; names are looked up when they are connected to.
 */
export function parseServerAddress(text: string, allowPrivate: boolean): PostgresAddress | RefusedAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !SCHEMES.includes(url.protocol)) return { problem: "is not a PostgreSQL URL" };
  const host = /^\[.*\]$/.test(url.hostname) ? url.hostname.slice(1, -1) : url.hostname;
  if (isIP(host) === 0 && !HOST.test(host)) return { problem: "names no TCP host" };
  if (!allowPrivate && isNear(host)) return { problem: "names this machine or a private network" };
  const given = [...url.searchParams.keys()];
  const unknown = given.find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return { problem: `has the parameter ${shown(unknown)}, which is not taken here` };
  const repeated = given.find((name, at) => given.indexOf(name) !== at);
  if (repeated !== undefined) return { problem: `has the parameter ${repeated} more than once` };
  const mode = url.searchParams.get("sslmode");
  if (mode !== null && !Object.hasOwn(SSL_MODES, mode)) return { problem: "has an unknown value of sslmode" };
  const binding = url.searchParams.get("channel_binding");
  if (binding !== null && !CHANNEL_BINDINGS.includes(binding)) {
    return { problem: "has an unknown value of channel_binding" };
  }
  const parts = [url.username, url.password, url.pathname.slice(1)].map(decoded);
  if (parts.includes(null)) return { problem: "is not percent-encoded correctly" };
  const [user, password, database] = parts.map((part) => (part === "" ? undefined : (part ?? undefined)));
  return {
    host,
    user,
    password,
    database,
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    ssl: mode === null ? undefined : SSL_MODES[mode],
    application_name: url.searchParams.get("application_name") ?? undefined,
    binds_channel: binding === "prefer" || binding === "require",
    is_public: !allowPrivate,
  };
}

/** How the driver connects to it. Of a public server it connects to the very address that was looked at. */
export function connectionOf(address: PostgresAddress): ClientConfig {
  const {
    host,
    port,
    user,
    password,
    database,
    ssl,
    application_name: applicationName,
    binds_channel: bindsChannel,
    is_public: isPublic,
  } = address;
  return {
    host,
    port,
    user,
    password,
    database,
    ssl,
    enableChannelBinding: bindsChannel,
    ...(applicationName === undefined ? {} : { application_name: applicationName }),
    ...(isPublic ? { stream: () => new PublicSocket() } : {}),
  };
}

/** Connects by TCP to what is on the internet alone, whatever a name says by then. */
class PublicSocket extends Socket {
  override connect(...given: unknown[]): this {
    const [port, host] = given;
    if (typeof port !== "number" || typeof host !== "string") {
      throw new TypeError("A public socket is connected to a port and a host.");
    }
    if (isNear(host)) {
      process.nextTick(() => this.destroy(Object.assign(new Error("The host is not public."), { code: "EPRIVATE" })));
      return this;
    }
    const options: SocketConnectOpts = { port, host, lookup: publicLookup };
    return super.connect(options);
  }
}

/** Whether a host is known to be near without a look-up. */
function isNear(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  if (isIP(host) !== 0) return !isForeignAddress(host);
  return name === "localhost" || name.endsWith(".localhost");
}

/** Null for what is not percent-encoded correctly. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** A name that a person may have mistyped, and no more of their text. */
function shown(name: string): string {
  return /^[a-z_]{1,40}$/i.test(name) ? name : "that is not a name";
}
