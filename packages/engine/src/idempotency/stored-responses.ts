import type { TypeKind } from "@appdb/contract/types";
import { JSON_HEADERS } from "../answers/answers.ts";
import type { Row } from "../compute/row-layout.ts";
import { quoteElement } from "../kinds/common.ts";
import { kindOf } from "../kinds/kinds.ts";
import { quoteIdent } from "../sql/quote.ts";
import type { InsertRequest } from "./request-store.ts";

interface Column {
  readonly name: string;
  readonly type: { readonly kind: TypeKind };
}

export interface InsertWithResponse {
  /** An INSERT that returns these columns, the row's identity first. */
  readonly insert: string;
  readonly returning: readonly Column[];
  /** Number of parameters of the INSERT. The parameters of the responses follow. */
  readonly parameters: number;
}

/**
 * Builds the statement that stores rows and the responses to their requests. It returns the result of the INSERT. A
 * response is a text. If SQL computes some of its values, the text has placeholders, and the computed values are stored
 * next to it. Parameters: see `responseParameters`.
 */
export function insertWithStoredResponse({ insert, returning, parameters }: InsertWithResponse): string {
  const [identity, ...generated] = returning;
  if (identity === undefined) throw new TypeError("Responses are stored by the identity of their rows.");
  const p = (offset: number): string => `$${parameters + offset}`;
  const texts = generated.map(({ name, type }) => {
    return kindOf(type).castedText(`s.${quoteIdent(name)}::text`);
  });
  const filled = `case when u.placeholders is not null then array[u.placeholders, ${texts.join(", ")}] end`;
  const names = returning.map(({ name }) => quoteIdent(name)).join(", ");
  return [
    `with stored as (${insert}), kept as (`,
    "insert into appdb.requests (id, digest, status, headers, body, made, expires_at)",
    `select u.id, u.digest, u.status, u.headers, u.body, ${generated.length === 0 ? "null" : filled}, ${p(8)}::timestamptz`,
    `from unnest(${p(1)}::uuid[], ${p(2)}::uuid[], ${p(3)}::uuid[], ${p(4)}::smallint[], ${p(5)}::json[], ${p(6)}::text[],`,
    `${p(7)}::text[]) as u(row, id, digest, status, headers, body, placeholders)`,
    // Sorted, so that two batches with the same keys wait for each other and do not deadlock.
    `join stored s on s.${quoteIdent(identity.name)} = u.row order by u.id)`,
    `select ${names} from stored`,
  ].join("\n");
}

/**
 * Returns the parameters of `insertWithStoredResponse` for the rows with an idempotency key. `identity` is the slot
 * that identifies a row. `unknown` are the slots that SQL computes, in the order of its result.
 */
export function responseParameters(
  writes: readonly { readonly row: Row; readonly request?: InsertRequest | undefined }[],
  { identity, unknown, expiresAt }: { identity: number; unknown: readonly number[]; expiresAt: string },
): string[] {
  const identities: string[] = [];
  const ids: string[] = [];
  const digests: string[] = [];
  const statuses: number[] = [];
  const heads: string[] = [];
  const bodies: string[] = [];
  const placeholders: string[] = [];
  for (const { row, request } of writes) {
    if (request === undefined) continue;
    const { status, headers, body } = request.respond(unknown);
    identities.push(String(row[identity]));
    ids.push(request.id);
    digests.push(request.digest);
    statuses.push(status);
    heads.push(headers === JSON_HEADERS ? "NULL" : quoteElement(JSON.stringify(headers)));
    bodies.push(quoteElement(body.text));
    placeholders.push(body.placeholders === null ? "NULL" : quoteElement(body.placeholders));
  }
  return [
    ...[identities, ids, digests, statuses, heads, bodies, placeholders].map((values) => `{${values.join(",")}}`),
    expiresAt,
  ];
}
