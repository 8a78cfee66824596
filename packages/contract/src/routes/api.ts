import type * as z from "zod";

/** Maximum rows of a page of a table. */
export const MAX_ROWS = 1_000;

/**
 * A route for all sides: the client, the server, the generated docs. The schemas of an API are a separate table, which
 * `defineApi` joins. The command only needs the routes, and loading zod would cost it a quarter of its start.
 */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Takes a streamed body of this type. It may take any time while data arrives. */
  readonly streams?: "application/x-tar" | "application/json" | "application/octet-stream";
  /** Takes text instead of JSON. */
  readonly takes?: "text/plain";
  /** Not a GET, but it changes nothing that anyone sees: a lost response leaves nothing unknown. */
  readonly is_safe?: true;
  /**
   * The form of a response that is not one JSON document. `lines`: streamed NDJSON, each line an `answer`. `events`:
   * NDJSON, `progress` lines, then exactly one `done` with the `answer`, or one `error`. `text`: text for Prometheus.
   * `file`: the content of a file. `rows`: a result as messages (data-queries.ts). `tunnel`: bytes in both directions at
   * the same time, until one side ends.
   */
  readonly answers?: "lines" | "events" | "text" | "file" | "rows" | "tunnel";
}

export type Schema = z.ZodType;

/** The input and output of a route. */
export interface RouteSchemas {
  readonly params?: Schema;
  readonly query?: Schema;
  /** For a request; absent where none is taken. */
  readonly body?: Schema;
  /** For the response with `status`. */
  readonly answer?: Schema;
  /** 200 when absent. */
  readonly status?: 200 | 201 | 202 | 204;
}

export type CheckedRoute = Route & RouteSchemas;
/** Routes with their schemas, by the name of the operation. */
export type Api = Readonly<Record<string, CheckedRoute>>;

/** Joins routes and schemas of the same names. */
export function defineApi<
  Routes extends Readonly<Record<string, Route>>,
  const Schemas extends { readonly [Name in keyof Routes]: RouteSchemas },
>(routes: Routes, schemas: Schemas): { readonly [Name in keyof Routes]: Routes[Name] & Schemas[Name] } {
  const joined = Object.entries(routes).map(([name, route]) => [name, { ...route, ...schemas[name] }]);
  return Object.fromEntries(joined);
}

export const get = withMethod("GET");
export const post = withMethod("POST");
export const put = withMethod("PUT");
export const patch = withMethod("PATCH");
export const remove = withMethod("DELETE");

function withMethod<const Method extends Route["method"]>(method: Method) {
  return <const Path extends string, const More extends Omit<Route, "method" | "path"> = object>(
    path: Path,
    more?: More,
  ) => ({ method, path, ...more }) as { readonly method: Method; readonly path: Path } & More;
}

/** Names of the parameters of a path: `"org" | "db"`. */
export type ParamOf<Path extends string> = Path extends `${string}:${infer Param}/${infer Rest}`
  ? Param | ParamOf<Rest>
  : Path extends `${string}:${infer Param}`
    ? Param
    : never;

/** A parsed part of a request. */
export type Parsed<R extends CheckedRoute, Part extends "body" | "query"> = R extends {
  readonly [key in Part]: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : undefined;

/** The document that a handler returns. */
export type Answered<R extends CheckedRoute> = R extends { readonly answer: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is one of a route that answers 204
    void;

/** A path with its encoded parameters and its query. */
export function urlOf(
  path: string,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const filled = path.replaceAll(/:([a-z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value));
  return search.size === 0 ? filled : `${filled}?${search}`;
}
