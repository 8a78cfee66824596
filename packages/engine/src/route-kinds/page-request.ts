import { appError } from "@appdb/contract/errors";
import type { PageOf } from "../queries/pages.ts";
import { readQueryCursor } from "../queries/query-cursor.ts";

/** The URL parameters for pages of a list. */
export const PAGE_PARAMETERS = ["page_size", "cursor"] as const;

export interface PageRequest {
  readonly page_size: string | undefined;
  readonly cursor: string | undefined;
}

/** Splits the page parameters from a URL's query string. The rest are the query's own parameters. */
export function splitSearch(search: string): { readonly asked: PageRequest | undefined; readonly rest: string } {
  if (!search.includes("page_size") && !search.includes("cursor")) return { asked: undefined, rest: search };
  const parameters = new URLSearchParams(search);
  if (PAGE_PARAMETERS.every((name) => !parameters.has(name))) return { asked: undefined, rest: search };
  const last = (name: string) => parameters.getAll(name).at(-1);
  const pageRequest = { page_size: last("page_size"), cursor: last("cursor") };
  for (const name of PAGE_PARAMETERS) parameters.delete(name);
  return { asked: pageRequest, rest: parameters.toString() };
}

/** @throws invalid_request for a size that is not a number from 1 to `max`; invalid_cursor */
export function readPage({ page_size: pageSize, cursor }: PageRequest, scope: string, max: number): PageOf {
  const size = pageSize === undefined ? undefined : Number(pageSize);
  if (size !== undefined && !(/^\d{1,9}$/.test(pageSize ?? "") && size >= 1 && size <= max)) {
    const detail = `Expected a page_size from 1 to ${max}, got ${JSON.stringify(pageSize?.slice(0, 60))}.`;
    throw appError("invalid_request", {
      detail: `page_size: ${detail}`,
      hint: `Send a whole number, such as page_size=${Math.min(100, max)}.`,
      errors: [{ pointer: "/page_size", detail }],
    });
  }
  if (cursor === undefined) return { size: size ?? max, after: null };
  const page = readQueryCursor(scope, cursor);
  return { size: size ?? page.size, after: page.after };
}

/** A `Link` to the next page. It is relative, so it works behind any prefix and gateway. */
export function linkToNext(rest: string, size: number, cursor: string): string {
  return `<?${rest === "" ? "" : `${rest}&`}page_size=${size}&cursor=${cursor}>; rel="next"`;
}

/** @throws invalid_request for a route that returns one row */
export function refusePages(): never {
  throw appError("invalid_request", {
    detail: "The route returns one row and has no pages.",
    hint: "Omit page_size= and cursor=.",
    errors: PAGE_PARAMETERS.map((name) => ({ pointer: `/${name}`, detail: "The route returns one row." })),
  });
}
