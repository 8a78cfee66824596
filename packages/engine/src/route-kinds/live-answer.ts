import { appError } from "@appdb/contract/errors";
import type { RouteAnswer } from "../answers/answers.ts";
import type { LiveQueries } from "../live/live-queries.ts";
import type { OpenQuery } from "../queries/open-queries.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { RouteRequest } from "../routes/route.ts";

const EVENT_STREAM = "text/event-stream";

const STREAM_HEADERS = {
  "content-type": `${EVENT_STREAM}; charset=utf-8`,
  "cache-control": "no-cache, no-transform",
  // nginx and similar proxies would buffer events.
  "x-accel-buffering": "no",
} as const;

/** Whether a request asks for an event stream: it names that type, and does not name JSON first. */
export function wantsEvents({ headers }: Pick<RouteRequest, "headers">): boolean {
  const { accept } = headers;
  if (accept === undefined) return false;
  const accepted = String(accept).toLowerCase();
  const events = accepted.indexOf(EVENT_STREAM);
  if (events < 0) return false;
  const json = accepted.indexOf("application/json");
  return json < 0 || events < json;
}

/** Opens the stream: `result`, then changes (live/live-queries.ts). @throws as LiveQueries.open */
export async function answerLive(
  live: LiveQueries,
  query: OpenQuery,
  args: QueryArguments,
  request: RouteRequest,
): Promise<RouteAnswer> {
  const last = request.headers["last-event-id"];
  const body = await live.open(query, args, last === undefined ? undefined : String(last));
  return { status: 200, headers: STREAM_HEADERS, body, is_endless: true };
}

/** @throws invalid_request for a live query in pages */
export function refuseLivePages(): never {
  throw appError("invalid_request", {
    detail: "A live query returns all its rows and has no pages.",
    hint: "Omit page_size= and cursor=, or add a limit to the query.",
    errors: [{ pointer: "/page_size", detail: "A live query has no pages." }],
  });
}

/** @throws invalid_request for a live query with files in a form, which end with the request */
export function refuseLiveForm(): never {
  throw appError("invalid_request", {
    detail: "A live query runs again after each change, but the files of a form exist only until the first result.",
    hint: "Omit the header accept: text/event-stream, or send the address of the file in JSON.",
    errors: [{ pointer: "", detail: "A live query takes no form." }],
  });
}

/** @throws invalid_request for a live query through an application object, which passes whole responses on */
export function refuseLiveInside(): never {
  throw appError("invalid_request", {
    detail: "A live query cannot be opened through an application object, which only passes whole responses on.",
    hint: "Omit the header accept: text/event-stream, or serve the query by a router outside of that object.",
    errors: [{ pointer: "", detail: "A live query never ends." }],
  });
}
