import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findPostgresBin } from "./postgres-binaries.ts";

const run = promisify(execFile);

/** A socket path has at most 107 bytes, so a long TMPDIR cannot hold the server's folder. */
const LONGEST_SOCKET_FOLDER = 80;
const START_TIMEOUT_MS = 60_000;

/**
 * The server is a child of this script, which waits on its standard input. However the tests end, even when killed, the
 * pipe closes. The script then stops the server and removes its folder.
 */
const GUARD = `
folder=$1; shift
"$@" </dev/null >"$folder/log" 2>&1 &
server=$!
read -r keep
kill -QUIT "$server"
wait "$server"
[ "$keep" = keep ] || rm -rf "$folder"
`;

export interface TestPostgres extends AsyncDisposable {
  /** The server's `postgres` database, as superuser. */
  readonly dsn: string;
  /** Ends the server like a crash; its data stays for `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Starts a temporary PostgreSQL in a temp folder on a unix socket, without fsync. It ends with this process at the
 *  latest. */
export async function startTestPostgres(): Promise<TestPostgres> {
  const bin = findPostgresBin();
  const folder = makeFolder();
  try {
    await run(...asOrdinaryUser(join(bin, "initdb"), initdbArguments(join(folder, "data"))));
    const server = new GuardedPostgres(bin, folder);
    await server.start();
    return server;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

class GuardedPostgres implements TestPostgres {
  readonly dsn: string;
  readonly #bin: string;
  readonly #folder: string;
  #guard: ChildProcess | undefined;

  constructor(bin: string, folder: string) {
    this.#bin = bin;
    this.#folder = folder;
    this.dsn = `postgresql:///postgres?host=${encodeURIComponent(folder)}&user=postgres`;
  }

  async start(): Promise<void> {
    const data = join(this.#folder, "data");
    const [command, args] = asOrdinaryUser(join(this.#bin, "postgres"), serverArguments(data, this.#folder));
    const guard = spawn("/bin/sh", ["-c", GUARD, "guard", this.#folder, command, ...args], {
      stdio: ["pipe", "ignore", "inherit"],
      // A Ctrl-C in the terminal reaches the whole process group; the guard must outlive it to clean up.
      detached: true,
    });
    this.#guard = guard;
    try {
      await waitUntilReady(join(this.#bin, "pg_isready"), this.#folder, guard);
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  async kill(): Promise<void> {
    await this.#end("keep\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(word: string): Promise<void> {
    const guard = this.#guard;
    this.#guard = undefined;
    if (guard === undefined || guard.exitCode !== null) return;
    const ended = new Promise((resolve) => guard.once("exit", resolve));
    guard.stdin?.end(word);
    await ended;
  }
}

function makeFolder(): string {
  const base = tmpdir().length > LONGEST_SOCKET_FOLDER ? "/tmp" : tmpdir();
  return mkdtempSync(join(base, "appdb-pg-"));
}

function initdbArguments(data: string): string[] {
  return [
    "-D",
    data,
    "-U",
    "postgres",
    "--auth=trust",
    "--no-sync",
    "--no-instructions",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=PG_UNICODE_FAST",
    "--locale=C",
    "--wal-segsize=4",
  ];
}

function serverArguments(data: string, socketFolder: string): string[] {
  const settings = {
    listen_addresses: "",
    unix_socket_directories: socketFolder,
    max_connections: "200",
    fsync: "off",
    full_page_writes: "off",
    shared_buffers: "64MB",
    max_wal_size: "512MB",
    wal_level: "minimal",
    max_wal_senders: "0",
    log_min_messages: "warning",
  };
  return ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

/** PostgreSQL refuses to run as root. Under root it runs in a user namespace with an unprivileged user. */
function asOrdinaryUser(program: string, args: string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [program, args];
  return ["unshare", ["-U", "--map-user=65534", "--", program, ...args]];
}

async function waitUntilReady(pgIsReady: string, folder: string, guard: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const failure = await run(pgIsReady, ["-q", "-h", folder]).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) return;
    if (guard.exitCode !== null || Date.now() > deadline) {
      throw new Error("PostgreSQL for the tests did not start.", { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
