export interface SocketDsnInput {
  /** In which PostgreSQL's socket lies. */
  readonly folder: string;
  readonly database: string;
  readonly user: string;
}

/** How PostgreSQL is reached by its unix socket, in the form that `createPgPool` takes. */
export function socketDsn({ database, folder, user }: SocketDsnInput): string {
  return `postgresql:///${encodeURIComponent(database)}?host=${encodeURIComponent(folder)}&user=${encodeURIComponent(user)}`;
}
