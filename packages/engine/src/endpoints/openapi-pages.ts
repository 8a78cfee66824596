import type { ManifestQuery, ManifestQueryRoute } from "@appdb/contract/manifest";

/** What a list query takes in its URL beside its own parameters. */
export const PAGE_PARAMETERS_DESCRIBED = [
  {
    name: "page_size",
    in: "query",
    required: false,
    description: "Rows of a page; without it, and without a cursor, all rows are answered.",
    schema: { type: "integer", minimum: 1 },
  },
  {
    name: "cursor",
    in: "query",
    required: false,
    description: "Where the page begins: from the `Link` of the page before.",
    schema: { type: "string" },
  },
] as const;

/** The same query as a live one. */
export const EVENT_STREAM_DESCRIBED = {
  "text/event-stream": {
    schema: {
      type: "string",
      description:
        "Server-sent events: `result` (`rows`, `ids`), then after commits `change` (`added`, `removed`, `changed`) or `result` anew; `problem` before an early end. `Last-Event-ID` resumes.",
    },
  },
} as const;

/** Whether a query may have pages. Where Python filters or sorts its rows it has none, which is seen when it is planned. */
export function isMaybePageable({ query }: ManifestQuery): boolean {
  return query.sample === null && query.tail === null && !query.distinct;
}

/** The headers of a query's answer. */
export function describeHeaders(route: ManifestQueryRoute, isPaged: boolean) {
  const text = { type: "string" } as const;
  const headers = {
    ...(isPaged
      ? { Link: { description: 'The next page, with rel="next"; none on the last one.', schema: text } }
      : {}),
    ...(route.method === "get" ? { ETag: { description: "Changes when the answer does.", schema: text } } : {}),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}
