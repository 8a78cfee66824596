import { isIP, Socket, type SocketConnectOpts } from "node:net";
import { isForeignAddress, publicLookup } from "@appdb/system/network/public-addresses";
import type { ClientConfig } from "pg";

const DEFAULT_PORT = 5432;
/** A DNS name or an IPv4 address; no folder, no list, no percent-encoding. */
const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*)$/;
const SCHEMES = ["postgres:", "postgresql:"];
/** TLS options for each `sslmode`. The driver always verifies fully when it encrypts. */
const SSL_MODES: Readonly<Record<string, ClientConfig["ssl"]>> = {
  disable: false,
  "no-verify": { rejectUnauthorized: false },
  prefer: {},
  require: {},
  "verify-ca": {},
  "verify-full": {},
};
const CHANNEL_BINDINGS = ["disable", "prefer", "require"];
/** All supported parameters of an address. */
const PARAMETERS = ["application_name", "channel_binding", "sslmode"];

/** A PostgreSQL server over TCP as fields, so that the driver never parses the text. */
export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly ssl: ClientConfig["ssl"];
  readonly application_name: string | undefined;
  readonly binds_channel: boolean;
  /** Whether only public internet hosts are allowed. Otherwise this machine and private networks are allowed too. */
  readonly is_public: boolean;
}

/** Why an address is refused, without its text, which may contain a password. */
export interface RefusedAddress {
  /** Predicate of a sentence: `names no TCP host`. */
  readonly problem: string;
}

/**
 * Parses an untrusted `postgresql://user:password@host:5432/database` with one TCP host and known parameters. Unless
 * `allow_private`, it refuses this machine and private networks. Names are resolved and checked on connection.
 */
export function parseServerAddress(text: string, allowPrivate: boolean): PostgresAddress | RefusedAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !SCHEMES.includes(url.protocol)) return { problem: "is not a PostgreSQL URL" };
  const host = /^\[.*\]$/.test(url.hostname) ? url.hostname.slice(1, -1) : url.hostname;
  if (isIP(host) === 0 && !HOST.test(host)) return { problem: "names no TCP host" };
  if (!allowPrivate && isLocalHost(host)) return { problem: "names this machine or a private network" };
  const parameters = [...url.searchParams.keys()];
  const unknown = parameters.find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return { problem: `has the unsupported parameter ${shown(unknown)}` };
  const repeated = parameters.find((name, at) => parameters.indexOf(name) !== at);
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

/** Driver options for an address. For a public server, the driver connects to exactly the checked address. */
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

/** Connects by TCP to public internet addresses only, whatever the name resolves to. */
class PublicSocket extends Socket {
  override connect(...args: unknown[]): this {
    const [port, host] = args;
    if (typeof port !== "number" || typeof host !== "string") {
      throw new TypeError("A public socket is connected to a port and a host.");
    }
    if (isLocalHost(host)) {
      process.nextTick(() => this.destroy(Object.assign(new Error("The host is not public."), { code: "EPRIVATE" })));
      return this;
    }
    const options: SocketConnectOpts = { port, host, lookup: publicLookup };
    return super.connect(options);
  }
}

/** Whether a host is known to be local or private without a lookup. */
function isLocalHost(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  if (isIP(host) !== 0) return !isForeignAddress(host);
  return name === "localhost" || name.endsWith(".localhost");
}

/** Null for invalid percent-encoding. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** Shows a possibly misspelled name, but no other text of the user. */
function shown(name: string): string {
  return /^[a-z_]{1,40}$/i.test(name) ? name : "that is not a name";
}
