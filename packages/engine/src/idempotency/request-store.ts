import { hash } from "node:crypto";
import { JSON_HEADERS } from "../answers/answers.ts";
import { STRING_TYPE } from "../kinds/kinds.ts";
import { columnText } from "../kinds/values.ts";
import { type Clock, type SqlConnection, SqlError, type SqlPool } from "../ports.ts";
import { fillTemplate, type ResponseTemplate } from "./response-template.ts";

/** What makes two requests the same one. Whatever is stored for a request of this scope and key is stored once. */
export interface Once {
  /** Of scope and key, from `digestOf`. */
  readonly id: string;
  /** Route and caller, or the queue that a job belongs to. */
  readonly scope: string;
  readonly key: string;
  /** Of what the request says; another one under the same key is refused. */
  readonly digest: string;
}

/** Makes a request's identity. `says` is all that the request says. */
export function onceOf(scope: string, key: string, says: string | Uint8Array): Once {
  return { id: digestOf(`${scope}\0${key}`), scope, key, digest: digestOf(says) };
}

function digestOf(value: string | Uint8Array): string {
  return halfOf(hash("sha256", value, "hex"));
}

/** The first half of a sha256's hexadecimal digits, which is as many as a UUID has. */
export function halfOf(digits: string): string {
  return digits.slice(0, 32);
}

/** An answer as it is kept and given again. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request with a key: its response is stored in the transaction that stores what it changes. */
export interface IdempotentRequest<Result = void, Response = KeptAnswer> extends Once {
  /** The response to it; `result` is what the statement did. */
  respond(result: Result): Response;
}

/** Of an insert: the statement that stores the row stores the response, so that the slots `unknown` have placeholders. */
export type InsertRequest = IdempotentRequest<
  readonly number[],
  Omit<KeptAnswer, "body"> & { readonly body: ResponseTemplate }
>;

export interface KeptRequest {
  readonly digest: string;
  readonly answer: KeptAnswer;
}

/** A response to store, with the request that it answers. */
export type ResponseToStore = Pick<Once, "id"> & KeptRequest;

/** Nothing was stored for this request, because an earlier one with its key was answered. */
export class ReplayedRequest extends Error {
  readonly stored: KeptRequest;

  constructor(stored: KeptRequest) {
    super("the request was answered before");
    this.name = "ReplayedRequest";
    this.stored = stored;
  }
}

/** With a dot, which no table of an application has in its name: its constraints cannot be taken for this one. */
const KEY_CONSTRAINT = "appdb.requests.id";
/** Rows that one statement of `collect` removes, so that it holds no lock for long. */
const COLLECTED_AT_ONCE = 10_000;

/** Some request of a batch has been answered: the transaction that was to store it again was undone as a whole. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof SqlError && error.sqlstate === "23505" && error.constraint === KEY_CONSTRAINT;
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
   * Stores responses in the caller's transaction. It waits for another transaction that stores one of the keys.
   * @throws SqlError, for which `isKeyTaken` holds when one of the keys exists: the transaction must be undone then
   */
  async keep(connection: SqlConnection, responses: readonly ResponseToStore[]): Promise<void> {
    // In one order, so that two transactions with the same keys wait for each other and do not deadlock.
    const sorted = [...responses].sort((a, b) => (a.id < b.id ? -1 : 1));
    const texts = (values: readonly (string | null)[]): string => columnText(STRING_TYPE.kind, values);
    await connection.query({
      name: "appdb.keep_requests",
      text: `insert into appdb.requests (id, digest, status, headers, body, expires_at)
        select u.*, $6::timestamptz from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::json[], $5::text[]) as u`,
      values: [
        `{${sorted.map(({ id }) => id).join(",")}}`,
        `{${sorted.map(({ digest }) => digest).join(",")}}`,
        `{${sorted.map(({ answer }) => answer.status).join(",")}}`,
        texts(sorted.map(({ answer: { headers } }) => (headers === JSON_HEADERS ? null : JSON.stringify(headers)))),
        texts(sorted.map(({ answer }) => answer.body)),
        this.expiry(),
      ],
    });
  }

  /** Until when an answer that is given now is kept. */
  expiry(): string {
    return this.#time(this.#deps.keep_s);
  }

  /** Answers that are kept for some of these requests, by their `id`. One that has expired makes room for a new one. */
  async find(requests: readonly Once[]): Promise<ReadonlyMap<string, KeptRequest>> {
    const ids = `{${requests.map(({ id }) => id).join(",")}}`;
    // Without a name, and so planned each time: a plan that was made while the table was small would read all of it.
    const { rows } = await this.#deps.sql.query({
      text: `select translate(id::text, '-', ''), translate(digest::text, '-', ''), status, headers, body, to_json(made), expires_at <= $2::timestamptz
        from appdb.requests where id = any($1::uuid[])`,
      values: [ids, this.#time(0)],
    });
    const found = new Map<string, KeptRequest>();
    for (const [id, digest, status, headers, body, made, isExpired] of rows) {
      if (isExpired === "t") continue;
      found.set(id ?? "", {
        digest: digest ?? "",
        answer: {
          status: Number(status),
          headers: headers == null ? JSON_HEADERS : JSON.parse(headers),
          body: fillTemplate(body ?? "", made == null ? null : JSON.parse(made)),
        },
      });
    }
    if (found.size < rows.length) {
      await this.#deps.sql.query({
        text: "delete from appdb.requests where id = any($1::uuid[]) and expires_at <= $2::timestamptz",
        values: [ids, this.#time(0)],
      });
    }
    return found;
  }

  /** Removes the answers that have expired. Gives how many. */
  async collect(): Promise<number> {
    for (let removed = 0; ; ) {
      const { row_count: rowCount } = await this.#deps.sql.query({
        text: `delete from appdb.requests where ctid = any(array(
          select ctid from appdb.requests where expires_at <= $1::timestamptz limit ${COLLECTED_AT_ONCE}))`,
        values: [this.#time(0)],
      });
      removed += rowCount;
      if (rowCount < COLLECTED_AT_ONCE) return removed;
    }
  }

  #time(laterS: number): string {
    return new Date(this.#deps.clock.now() + laterS * 1_000).toISOString();
  }
}
