import { type Clock, type SqlConnection, SqlError, type SqlPool } from "../ports.ts";
import { columnText } from "../rows/value-sql.ts";

/** What makes two requests the same one. Whatever is stored for a request of this scope and key is stored once. */
export interface Once {
  /** Route and caller, or the queue that a job belongs to. */
  readonly scope: string;
  readonly key: string;
  /** Of what the request says; another one under the same key is refused. */
  readonly digest: string;
}

/** An answer as it is kept and given again. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request whose answer is to be kept in the transaction that stores its row. */
export interface RequestToKeep extends Once {
  /** Asked for inside of that transaction, when all of the row's values are known. */
  answer(): KeptAnswer;
}

export interface KeptRequest {
  readonly digest: string;
  readonly answer: KeptAnswer;
}

/** Nothing was stored for this request, because it was answered before. */
export class AnsweredBefore extends Error {
  readonly kept: KeptRequest;

  constructor(kept: KeptRequest) {
    super("the request was answered before");
    this.name = "AnsweredBefore";
    this.kept = kept;
  }
}

/** With a dot, which no table of an application has in its name: its constraints cannot be taken for this one. */
const KEY_CONSTRAINT = "appdb.requests.key";
/** Rows that one statement of `collect` removes, so that it holds no lock for long. */
const COLLECTED_AT_ONCE = 10_000;

/** Some request of a batch has been answered: the transaction that was to store it again was undone as a whole. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof SqlError && error.sqlstate === "23505" && error.constraint === KEY_CONSTRAINT;
}

/** One text for a request, for maps. */
export function onceId(once: Once): string {
  return `${once.scope}\0${once.key}`;
}

export interface RequestStoreDeps {
  readonly sql: SqlPool;
  readonly clock: Clock;
  /** How long an answer is kept. */
  readonly keep_s: number;
}

/** The answers of changing requests that came with a key: rows of `appdb.requests`, each written with what it tells of. */
export class RequestStore {
  readonly #deps: RequestStoreDeps;

  constructor(deps: RequestStoreDeps) {
    this.#deps = deps;
  }

  /**
   * Keeps answers in a transaction. A key that somebody else is just storing is waited for.
   * @throws SqlError, for which `isKeyTaken` holds when one of the keys is there: the transaction must be undone then
   */
  async keep(connection: SqlConnection, requests: readonly RequestToKeep[]): Promise<void> {
    // In one order, so that two batches with the same keys wait for each other and do not deadlock.
    const sorted = [...requests].sort((a, b) => (onceId(a) < onceId(b) ? -1 : 1));
    const answers = sorted.map((request) => request.answer());
    const texts = (values: readonly string[]): string => columnText("string", values);
    await connection.query({
      name: "appdb.keep_requests",
      text: `insert into appdb.requests (scope, key, digest, status, headers, body, expires_at)
        select u.*, $7::timestamptz from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::json[], $6::text[]) as u`,
      values: [
        texts(sorted.map(({ scope }) => scope)),
        texts(sorted.map(({ key }) => key)),
        texts(sorted.map(({ digest }) => digest)),
        `{${answers.map(({ status }) => status).join(",")}}`,
        texts(answers.map(({ headers }) => JSON.stringify(headers))),
        texts(answers.map(({ body }) => body)),
        this.#time(this.#deps.keep_s),
      ],
    });
  }

  /** Answers that are kept for some of these requests, by `onceId`. One that has expired makes room for a new one. */
  async find(requests: readonly Once[]): Promise<ReadonlyMap<string, KeptRequest>> {
    const keys = [
      columnText(
        "string",
        requests.map(({ scope }) => scope),
      ),
      columnText(
        "string",
        requests.map(({ key }) => key),
      ),
    ];
    // Without a name, and so planned each time: a plan that was made while the table was small would read all of it.
    const { rows } = await this.#deps.sql.query({
      text: `select r.scope, r.key, r.digest, r.status, r.headers, r.body, r.expires_at <= $3::timestamptz
        from unnest($1::text[], $2::text[]) as u(scope, key) join appdb.requests r on r.scope = u.scope and r.key = u.key`,
      values: [...keys, this.#time(0)],
    });
    const found = new Map<string, KeptRequest>();
    for (const [scope, key, digest, status, headers, body, is_expired] of rows) {
      if (is_expired === "t") continue;
      found.set(onceId({ scope: scope ?? "", key: key ?? "", digest: "" }), {
        digest: digest ?? "",
        answer: { status: Number(status), headers: JSON.parse(headers ?? "{}"), body: body ?? "" },
      });
    }
    if (found.size < rows.length) {
      await this.#deps.sql.query({
        text: `delete from appdb.requests r using unnest($1::text[], $2::text[]) as u(scope, key)
          where r.scope = u.scope and r.key = u.key and r.expires_at <= $3::timestamptz`,
        values: [...keys, this.#time(0)],
      });
    }
    return found;
  }

  /** Removes the answers that have expired. Gives how many. */
  async collect(): Promise<number> {
    for (let removed = 0; ; ) {
      const { row_count } = await this.#deps.sql.query({
        text: `delete from appdb.requests where ctid = any(array(
          select ctid from appdb.requests where expires_at <= $1::timestamptz limit ${COLLECTED_AT_ONCE}))`,
        values: [this.#time(0)],
      });
      removed += row_count;
      if (row_count < COLLECTED_AT_ONCE) return removed;
    }
  }

  #time(later_s: number): string {
    return new Date(this.#deps.clock.now() + later_s * 1_000).toISOString();
  }
}
