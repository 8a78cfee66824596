import type { Logger } from "@appdb/engine/ports";

/** A process of PostgreSQL. Its start distinguishes it from a later one with the same number. */
export interface Backend {
  readonly pid: string;
  readonly started_at: string;
}

/** So many lost processes may run before the server is restarted to end them. */
const MAX_LOST = 2;
const FIND =
  "select pid::text, backend_start::text as started_at from pg_catalog.pg_stat_activity where pid = any ($1::int[]) and backend_start is not null";

type Ask = (text: string, values: readonly unknown[]) => Promise<readonly Backend[]>;

/**
 * Processes that ignored the cancel of their statement and the end of their connection: PostgreSQL does not look for either
 * inside of some functions. A few of them are left to themselves. More are killed, and PostgreSQL then restarts.
 */
export class LostBackends {
  readonly #log: Logger | undefined;
  readonly #kill: (pid: number) => void;
  #lost: readonly Backend[] = [];

  /** The server must be one of this machine, in the same namespace of processes. */
  constructor(log: Logger | undefined, kill: (pid: number) => void = (pid) => void process.kill(pid, "SIGKILL")) {
    this.#log = log;
    this.#kill = kill;
  }

  /** Counts a process that did not end. `ask` runs a statement that sees all processes. */
  async add(pid: string, ask: Ask): Promise<void> {
    const found = await ask(FIND, [[pid, ...this.#lost.map((one) => one.pid)]]);
    const known = new Map(this.#lost.map((one) => [one.pid, one.started_at]));
    this.#lost = found.filter((one) => (known.get(one.pid) ?? one.started_at) === one.started_at);
    this.#log?.warn({ backend: pid, lost: this.#lost.length }, "a statement ignores that it is ended");
    if (this.#lost.length <= MAX_LOST) return;
    this.#log?.warn({ lost: this.#lost.length }, "these statements are killed, and PostgreSQL restarts");
    for (const one of this.#lost) this.#kill(Number(one.pid));
    this.#lost = [];
  }
}
