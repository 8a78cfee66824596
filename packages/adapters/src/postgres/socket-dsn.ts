export interface SocketDsnInput {
  /** In which PostgreSQL's socket lies. */
  readonly folder: string;
  readonly database: string;
  readonly user: string;
  readonly password: string;
}

/** How PostgreSQL is reached by its unix socket, in the form that `createPgPool` takes. It holds the password. */
export function socketDsn({ database, folder, password, user }: SocketDsnInput): string {
  const query = Object.entries({ host: folder, user, password }).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  return `postgresql:///${encodeURIComponent(database)}?${query.join("&")}`;
}
