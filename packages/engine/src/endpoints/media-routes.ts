import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { MEDIA_CORS } from "@appdb/contract/media";
import type { ColumnType } from "@appdb/contract/types";
import { answerError, type RouteAnswer } from "../answers/answers.ts";
import { fileAnswer } from "../answers/file-answer.ts";
import { answerWithAddresses, references } from "../answers/media-addresses.ts";
import { isMedia } from "../kinds/media.ts";
import type { Logger, MediaFiles } from "../ports.ts";
import type { CompiledRoute, RouteAddress, RouteRequest } from "../routes/route.ts";

/** Below the service's own path, whatever its prefix. No route can begin with `/_`. */
export const MEDIA_PATH = "/_media";
/** The address of a stored file leads to content that never changes, for as long as the address is valid. */
const CACHED = "private, max-age=3600, immutable";

/** The row may get another file, or the file is at an address of its own. */
const REVALIDATED = "private, no-cache";
/** A page that isolates itself may show the file. A browser's copy of an image must not answer a script of a page. */
const FOR_PAGES = { "cross-origin-resource-policy": "cross-origin", vary: "origin" };
/** The content types of answers that the engine makes of rows. */
const TEXTS = /^(?:application\/(?:json|x-ndjson|jsonl|jsonlines)|text\/event-stream)/;

/** Whether an application has media columns, or queries that take or return files. */
export function declaresMedia({ tables, queries }: Manifest): boolean {
  const columns = tables.flatMap(({ columns }) => columns);
  const parameters = queries.flatMap(({ parameters }) => parameters);
  const selected = queries.flatMap(({ query }) => query.select.map(({ expr }) => expr));
  return [...columns, ...parameters, ...selected].some(({ type }) => isMedia(type.kind));
}

/** The stores that columns of tables name for their files, each once. */
export function destinationsOf(tables: readonly { readonly columns: readonly { readonly type: ColumnType }[] }[]) {
  const named = tables.flatMap(({ columns }) => columns.flatMap(({ type }) => type.destination ?? []));
  return [...new Set(named)];
}

/** The route of a service that sends the files of media columns, by the addresses in its answers. */
export function compileMediaRoute(service: string, media: MediaFiles, log: Logger): CompiledRoute {
  return {
    service,
    method: "GET",
    path: `${MEDIA_PATH}/{token}/{name}`,
    uses_python: false,
    takes_signal: true,
    takes_any_body: true,
    cors: MEDIA_CORS,
    async handle(request) {
      try {
        const cell = media.readAddress(request.route?.params.token ?? "");
        const file = await media.open(cell, request.signal);
        const { headers, signal } = request;
        const cacheControl = file.is_fixed ? CACHED : REVALIDATED;
        const asked = { method: request.route?.method ?? "GET", headers, signal };
        const answer = await fileAnswer(file, asked, cacheControl);
        return { ...answer, headers: { ...answer.headers, ...FOR_PAGES } };
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}

/** The route with addresses of this service in its answers, in place of references to media. */
export function withMediaAddresses(route: CompiledRoute, media: MediaFiles, log: Logger): CompiledRoute {
  const addressed = (answer: RouteAnswer, { route: address }: RouteRequest): RouteAnswer =>
    TEXTS.test(answer.headers["content-type"] ?? "")
      ? answerWithAddresses(answer, (cell) => media.addressOf(cell, baseOf(address)))
      : answer;
  if (route.is_handler === true) return route;
  return {
    ...route,
    takes_address: true,
    // The handler never rejects, but a reference of a row may be broken.
    handle: (request) =>
      route
        .handle(request)
        .then((answer) => addressed(answer, request))
        .catch((error: unknown) => answerError(error, request.id, log, request.signal)),
  };
}

/**
 * The route whose answer is the file of its only value instead of JSON.
 * @throws nothing: a row without a file is media_not_found
 */
export function withFileResponse(route: CompiledRoute, media: MediaFiles, log: Logger): CompiledRoute {
  return {
    ...route,
    takes_signal: true,
    takes_address: true,
    async handle(request) {
      const answer = await route.handle(request);
      if (answer.status !== 200 || typeof answer.body !== "string") return answer;
      try {
        const [cell, ...others] = references(answer.body);
        if (cell === undefined || others.length > 0) throw noFile();
        const { headers, signal } = request;
        const method = request.route?.method ?? route.method;
        return await fileAnswer(await media.open(cell, signal), { method, headers, signal }, REVALIDATED);
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}

function noFile(): Error {
  return appError("media_not_found", {
    detail: "The row has no file: the value of the route's media column is null.",
    hint: "Request another row, or store a file in this one.",
  });
}

/** The address of the service as its caller knows it; empty for a caller inside of the service. */
function baseOf(address: RouteAddress | undefined): string {
  if (address === undefined) return "";
  return address.host === "" ? address.root_path : `${address.scheme}://${address.host}${address.root_path}`;
}
