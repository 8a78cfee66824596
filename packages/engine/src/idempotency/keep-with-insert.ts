import type { TypeKind } from "@appdb/contract/types";
import { JSON_HEADERS } from "../answers/answers.ts";
import type { Row } from "../compute/row-layout.ts";
import { quoteElement } from "../kinds/common.ts";
import { kindOf } from "../kinds/kinds.ts";
import { quoteIdent } from "../sql/quote.ts";
import { requestOf } from "./request-store.ts";

interface Column {
  readonly name: string;
  readonly type: { readonly kind: TypeKind };
}

export interface KeptShape {
  /** An INSERT that returns these columns, the row's identity first. */
  readonly insert: string;
  readonly returning: readonly Column[];
  /** Parameters of the INSERT; those of the answers follow. */
  readonly parameters: number;
}

/**
 * The statement that stores rows and, with those that were stored, the answers of their requests. It answers what the
 * INSERT returns. An answer comes as text; where SQL computes some of its values it has holes, which are kept
 * beside it with those values as PostgreSQL writes them. Parameters: see `keptParameters`.
 */
export function keepWithInsert({ insert, returning, parameters }: KeptShape): string {
  const [identity, ...made] = returning;
  if (identity === undefined) throw new TypeError("Answers are kept by the identity of their rows.");
  const p = (offset: number): string => `$${parameters + offset}`;
  const texts = made.map(({ name, type }) => {
    return kindOf(type).castedText(`s.${quoteIdent(name)}::text`);
  });
  const filled = `case when u.holes is not null then array[u.holes, ${texts.join(", ")}] end`;
  const names = returning.map(({ name }) => quoteIdent(name)).join(", ");
  return [
    `with stored as (${insert}), kept as (`,
    "insert into appdb.requests (id, digest, status, headers, body, made, expires_at)",
    `select u.id, u.digest, u.status, u.headers, u.body, ${made.length === 0 ? "null" : filled}, ${p(8)}::timestamptz`,
    `from unnest(${p(1)}::uuid[], ${p(2)}::uuid[], ${p(3)}::uuid[], ${p(4)}::smallint[], ${p(5)}::json[], ${p(6)}::text[],`,
    `${p(7)}::text[]) as u(row, id, digest, status, headers, body, holes)`,
    // In one order, so that two batches with the same keys wait for each other and do not deadlock.
    `join stored s on s.${quoteIdent(identity.name)} = u.row order by u.id)`,
    `select ${names} from stored`,
  ].join("\n");
}

/**
 * The parameters of `keepWithInsert`, for those of the rows that come from a request whose answer is kept. `identity` is
 * the slot that identifies a row, `unknown` are the slots that SQL computes, in the order of what it returns.
 */
export function keptParameters(
  rows: readonly Row[],
  identity: number,
  unknown: readonly number[],
  expiresAt: string,
): string[] {
  const identities: string[] = [];
  const ids: string[] = [];
  const digests: string[] = [];
  const statuses: number[] = [];
  const heads: string[] = [];
  const bodies: string[] = [];
  const holes: string[] = [];
  for (const row of rows) {
    const request = requestOf(row);
    if (request === undefined) continue;
    const { status, headers, body } = request.answer(unknown);
    identities.push(String(row[identity]));
    ids.push(request.id);
    digests.push(request.digest);
    statuses.push(status);
    heads.push(headers === JSON_HEADERS ? "NULL" : quoteElement(JSON.stringify(headers)));
    bodies.push(quoteElement(body.text));
    holes.push(body.holes === null ? "NULL" : quoteElement(body.holes));
  }
  return [
    ...[identities, ids, digests, statuses, heads, bodies, holes].map((values) => `{${values.join(",")}}`),
    expiresAt,
  ];
}
