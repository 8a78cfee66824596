/** Of a server without another one. It is also a part of the name of its socket. */
const DEFAULT_PORT = 5432;

export interface SocketDsnInput {
  /** Folder of PostgreSQL's socket. */
  readonly folder: string;
  readonly database: string;
  readonly user: string;
  readonly password: string;
}

/** Connection string for a unix socket in the format of `createPgPool`, with the password. */
export function socketDsn({ folder, ...login }: SocketDsnInput): string {
  return writeDsn({ host: folder }, login);
}

/** How PostgreSQL is reached by TCP, in the same form. */
export function tcpDsn({
  host,
  port,
  ...login
}: Omit<SocketDsnInput, "folder"> & { readonly host: string; readonly port: number }): string {
  return writeDsn({ host, port: String(port) }, login);
}

/** The same connection string with another role, and without startup options of the first one. */
export function withLogin(
  dsn: string,
  { user, password }: { readonly user: string; readonly password: string },
): string {
  const [address, query] = dsn.split("?", 2);
  const parameters = new URLSearchParams(query);
  parameters.delete("options");
  parameters.set("user", user);
  parameters.set("password", password);
  // a plus sign is not a space there
  const written = [...parameters].map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `${address}?${written.join("&")}`;
}

function writeDsn(parameters: Readonly<Record<string, string>>, login: Omit<SocketDsnInput, "folder">): string {
  const { database, password, user } = login;
  const query = Object.entries({ ...parameters, user, password }).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  return `postgresql:///${encodeURIComponent(database)}?${query.join("&")}`;
}

/** Where the server of a connection string listens, in the form that `net.connect` takes. */
export function listenerOf(dsn: string): { readonly path: string } | { readonly host: string; readonly port: number } {
  const url = new URL(dsn);
  const host = url.searchParams.get("host") ?? url.hostname;
  const port = Number(url.searchParams.get("port") ?? (url.port || DEFAULT_PORT));
  return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}
