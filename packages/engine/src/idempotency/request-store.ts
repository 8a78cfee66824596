import { hash } from "node:crypto";
import { JSON_HEADERS } from "../answers/answers.ts";
import { STRING_TYPE } from "../kinds/kinds.ts";
import { columnText } from "../kinds/values.ts";
import { type Clock, type SqlConnection, SqlError, type SqlPool } from "../ports.ts";
import { fillTemplate, type ResponseTemplate } from "./response-template.ts";

/** The identity of a request. One response is stored per scope and key. */
export interface Once {
  /** Digest of scope and key, from `digestOf`. */
  readonly id: string;
  /** Route and caller, or the queue of a job. */
  readonly scope: string;
  readonly key: string;
  /** Digest of the request's content. Another digest under the same key is refused. */
  readonly digest: string;
}

/** Creates the identity of a request. `says` is the complete content of the request. */
export function onceOf(scope: string, key: string, says: string | Uint8Array): Once {
  return { id: digestOf(`${scope}\0${key}`), scope, key, digest: digestOf(says) };
}

function digestOf(value: string | Uint8Array): string {
  return halfOf(hash("sha256", value, "hex"));
}

/** The first half of the hexadecimal digits of a sha256: as many as in a UUID. */
export function halfOf(digits: string): string {
  return digits.slice(0, 32);
}

/** A response as stored and replayed. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request with an idempotency key. One transaction stores its changes and its response. */
export interface IdempotentRequest<Result = void, Response = KeptAnswer> extends Once {
  /** Makes the response. `result` is the result of the statement. */
  respond(result: Result): Response;
}

/** For an insert, the statement that stores the row stores the response too. The slots `unknown` therefore have
 *  placeholders. */
export type InsertRequest = IdempotentRequest<
  readonly number[],
  Omit<KeptAnswer, "body"> & { readonly body: ResponseTemplate }
>;

export interface KeptRequest {
  readonly digest: string;
  readonly answer: KeptAnswer;
}

/** A response to store, with its request. */
export type ResponseToStore = Pick<Once, "id"> & KeptRequest;

/** Nothing was stored for this request, because an earlier one with its key has an answer. */
export class ReplayedRequest extends Error {
  readonly stored: KeptRequest;

  constructor(stored: KeptRequest) {
    super("the request was already answered");
    this.name = "ReplayedRequest";
    this.stored = stored;
  }
}

/** Contains a dot, which no application table name has. So no user constraint can have this name. */
const KEY_CONSTRAINT = "appdb.requests.id";
/** Maximum rows per delete in `collect`, so that it holds no lock for long. */
const COLLECTED_AT_ONCE = 10_000;

/** True if a request of the batch already has an answer. The whole transaction was rolled back. */
export function isKeyTaken(error: unknown): boolean {
  return error instanceof SqlError && error.sqlstate === "23505" && error.constraint === KEY_CONSTRAINT;
}

export interface RequestStoreDeps {
  readonly sql: SqlPool;
  readonly clock: Clock;
  /** How long an answer is kept, in seconds. */
  readonly keep_s: number;
}

/** Stored responses of requests with an idempotency key, in `appdb.requests`. Each is written in the transaction of
 *  its change. */
export class RequestStore {
  readonly #deps: RequestStoreDeps;

  constructor(deps: RequestStoreDeps) {
    this.#deps = deps;
  }

  /**
   * Stores responses in the caller's transaction. Waits for other transactions that store one of the keys.
   * @throws SqlError; if `isKeyTaken` holds for it, a key exists and the transaction must be rolled back
   */
  async store(connection: SqlConnection, responses: readonly ResponseToStore[]): Promise<void> {
    // Sorted, so that two transactions with the same keys wait for each other and do not deadlock.
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

  /** Expiry time of an answer that is stored now. */
  expiry(): string {
    return this.#time(this.#deps.keep_s);
  }

  /** Returns the stored answers to these requests by `id`. Expired answers are ignored. */
  async find(requests: readonly Once[]): Promise<ReadonlyMap<string, KeptRequest>> {
    const ids = `{${requests.map(({ id }) => id).join(",")}}`;
    // An unnamed statement is planned each time. A plan made while the table was small would scan the whole table.
    const { rows } = await this.#deps.sql.query({
      text: `select translate(id::text, '-', ''), translate(digest::text, '-', ''), status, headers, body, to_json(made), expires_at <= $2::timestamptz
        from appdb.requests where id = any($1::uuid[])`,
      values: [ids, this.#time(0)],
    });
    const found = new Map<string, KeptRequest>();
    for (const [id, digest, status, headers, body, placeholders, isExpired] of rows) {
      if (isExpired === "t") continue;
      found.set(id ?? "", {
        digest: digest ?? "",
        answer: {
          status: Number(status),
          headers: headers == null ? JSON_HEADERS : JSON.parse(headers),
          body: fillTemplate(body ?? "", placeholders == null ? null : JSON.parse(placeholders)),
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

  /** Removes expired answers. Returns their number. */
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
