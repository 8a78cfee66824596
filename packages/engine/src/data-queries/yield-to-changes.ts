import { appError } from "@appdb/contract/errors";
import { blocksChange, LOCK_TIMEOUT_MS } from "../catalog/table-locks.ts";
import type { SqlConnection } from "../ports.ts";

/** A client may keep a read waiting for so long in sum before changes of the schema end it. */
const PATIENCE_MS = 1_000;
/** A change waits for a lock for `LOCK_TIMEOUT_MS` at a time, then tries again for seconds. */
const WATCH_MS = LOCK_TIMEOUT_MS;

/** Ends a read that waits for its client while a change of the schema waits for the read. */
export class SlowReader {
  readonly #sql: SqlConnection;
  readonly #process: string;
  #waited = 0;

  /** `sql` sees the locks of all connections. `process` is PostgreSQL's process of the read. */
  constructor(sql: SqlConnection, process: string) {
    this.#sql = sql;
    this.#process = process;
  }

  /** Waits for the client. @throws schema_changed; errors of `client` and of the connection */
  async wait(client: Promise<void>): Promise<void> {
    const began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const blocking = new Promise<never>((_resolve, reject) => {
      const watch = () => {
        blocksChange(this.#sql, this.#process).then((is) => {
          if (is) reject(tooSlow());
          else timer &&= setTimeout(watch, WATCH_MS);
        }, reject);
      };
      timer = setTimeout(watch, Math.max(PATIENCE_MS - this.#waited, WATCH_MS));
    });
    try {
      await Promise.race([client, blocking]);
    } finally {
      clearTimeout(timer);
      timer = undefined;
      this.#waited += performance.now() - began;
    }
  }
}

function tooSlow(): Error {
  return appError("schema_changed", {
    detail:
      "A change of the schema waits for a table of the result. The client takes the rows too slowly, so it ends here.",
    hint: "Read the result again when the change is done, faster or with fewer rows.",
  });
}
