import type { TypeKind } from "@appdb/contract/types";
import { JSON_HEADERS } from "../endpoints/answers.ts";
import type { Row } from "../rows/row-layout.ts";
import { quoteElement } from "../rows/value-sql.ts";
import { quoteIdent } from "../sql/quote.ts";
import { bodyText } from "./kept-body.ts";
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
 * INSERT returns. An answer comes as text; where SQL computes some of its values it has holes, and those values are kept
 * beside it as PostgreSQL writes them. Parameters: see `keptParameters`.
 */
export function keepWithInsert({ insert, returning, parameters }: KeptShape): string {
  const [identity, ...made] = returning;
  if (identity === undefined) throw new TypeError("Answers are kept by the identity of their rows.");
  const p = (offset: number): string => `$${parameters + offset}`;
  const texts = made.map(({ name, type }) => {
    const text = `s.${quoteIdent(name)}::text`;
    // What a cast writes out in full, everything else calls t and f.
    return type.kind === "bool" ? `left(${text}, 1)` : text;
  });
  const values = made.length === 0 ? "null::text[]" : `case when u.has_holes then array[${texts.join(", ")}] end`;
  const names = returning.map(({ name }) => quoteIdent(name)).join(", ");
  return [
    `with stored as (${insert}), kept as (`,
    "insert into appdb.requests (id, scope, key, digest, status, headers, body, made, expires_at)",
    `select u.id, u.scope, u.key, u.digest, u.status, u.headers, u.body, ${values}, ${p(10)}::timestamptz`,
    `from unnest(${p(1)}::uuid[], ${p(2)}::uuid[], ${p(3)}::text[], ${p(4)}::text[], ${p(5)}::uuid[], ${p(6)}::smallint[],`,
    `${p(7)}::json[], ${p(8)}::text[], ${p(9)}::bool[]) as u(row, id, scope, key, digest, status, headers, body, has_holes)`,
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
  expires_at: string,
): string[] {
  const arrays = ["", "", "", "", "", "", "", "", ""];
  let lead = "{";
  for (const row of rows) {
    const request = requestOf(row);
    if (request === undefined) continue;
    const { status, headers, body } = request.answer(unknown);
    const values = [
      String(row[identity]),
      request.id,
      quoteElement(request.scope),
      quoteElement(request.key),
      request.digest,
      String(status),
      headers === JSON_HEADERS ? "NULL" : quoteElement(JSON.stringify(headers)),
      quoteElement(bodyText(body)),
      body.holes.length === 0 ? "f" : "t",
    ];
    for (let at = 0; at < values.length; at++) arrays[at] += lead + values[at];
    lead = ",";
  }
  return [...arrays.map((text) => `${text}}`), expires_at];
}
