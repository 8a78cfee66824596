import { hash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type {
  Manifest,
  ManifestQuery,
  ManifestQueryRoute,
  ManifestRoute,
  ManifestService,
} from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import { answerError, JSON_HEADERS, type RouteAnswer } from "../answers/answers.ts";
import { isMedia } from "../kinds/media.ts";
import { compileFileChecks } from "../queries/check-files.ts";
import type { QueryAnswer } from "../queries/final-answer.ts";
import { writeQueryCursor } from "../queries/query-cursor.ts";
import { compileParameters } from "../queries/read-parameters.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { givenInArguments } from "../rows/given-media.ts";
import type { ParsedBody } from "../rows/parse-body.ts";
import { answerLive, refuseLiveForm, refuseLivePages, wantsEvents } from "./live-answer.ts";
import { checkedRows } from "./over-row.ts";
import { linkToNext, PAGE_PARAMETERS, type PageRequest, readPage, refusePages, splitSearch } from "./page-request.ts";
import { describeQuery, pathParameters } from "./query-openapi.ts";
import { compileForms, FORM_TYPE, isForm, receiveLater } from "./request-form.ts";
import { compareFileResponse, compareNames, compareUploads, type RouteChanges } from "./route-changes.ts";
import type { Manifests, Refuse, RouteKind } from "./route-kind.ts";

/** Clients must revalidate a cached response, and get 304 when nothing has changed. */
const CACHE_CONTROL = "no-cache";

/** Adds an ETag, a digest of the body, to a GET response. Gives 304 without a body when the client has that
 *  response. */
function withEtag(
  answer: RouteAnswer & { readonly body: string },
  headers: Readonly<Record<string, string | string[] | undefined>>,
): RouteAnswer {
  const { link } = answer.headers;
  const digest = hash("sha1", link === undefined ? answer.body : `${link}\n${answer.body}`, "base64url");
  const etag = `"${digest}"`;
  const tagged = { ...answer.headers, etag, "cache-control": CACHE_CONTROL, vary: "accept" };
  if (!isKnown(headers["if-none-match"], etag)) return { ...answer, headers: tagged };
  const { "content-type": _type, ...otherHeaders } = tagged as Record<string, string>;
  return { status: 304, headers: otherHeaders, body: "" };
}

/** Whether the client sent our tag. Comparison is weak, because a proxy that compresses prefixes tags with `W/`. */
function isKnown(sent: string | string[] | undefined, etag: string): boolean {
  if (sent === undefined) return false;
  const tags = String(sent);
  if (tags.trim() === "*") return true;
  return tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** Takes values of a query's parameters in the body or URL, and returns its rows. */
export const queryKind: RouteKind<ManifestQueryRoute> = {
  title: "a query",
  isHandler: false,
  computesColumns: false,
  changesRows: false,
  check: checkQueryRoute,
  compile: compileQueryRoute,
  describe({ query: id, inputs, one_row: oneRow }, queries) {
    const query = queries.find((found) => found.id === id);
    const outputs = query?.query.select.map(({ name }) => name) ?? [];
    return { table: null, query: query?.name ?? null, one_row: oneRow, inputs: [...inputs], outputs };
  },
  openapi: describeQuery,
  compare: compareQueryRoutes,
  overTable: () => undefined,
};

function checkQueryRoute(route: ManifestQueryRoute, manifest: Manifest, refuse: Refuse): void {
  const query =
    manifest.queries.find((candidate) => candidate.id === route.query) ??
    refuse(`Query ${route.query} does not exist.`);
  for (const { table } of [query.query.from, ...query.query.joins]) checkedRows(manifest, table, refuse);
  const names = query.parameters.map(({ name }) => name);
  for (const name of PAGE_PARAMETERS) {
    if (names.includes(name)) refuse(`Query ${query.name} has a parameter ${name}, which is reserved for pages.`);
  }
  for (const name of route.inputs) {
    if (names.includes(name)) continue;
    const nearest = nearestName(name, names);
    refuse(`Query ${query.name} has no parameter ${name}.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`);
  }
  for (const name of pathParameters(route)) {
    if (!route.inputs.includes(name)) refuse(`The path has a parameter ${name}, which is not an input of the route.`);
  }
  for (const name of route.uploads ?? []) {
    const isFile = query.parameters.some((known) => known.name === name && isMedia(known.type.kind));
    if (!isFile || !route.inputs.includes(name) || route.method === "get") {
      refuse(`Parameter ${name} cannot be a file in the request of this route.`);
    }
  }
  for (const parameter of query.parameters) {
    if (route.inputs.includes(parameter.name) || parameter.default !== undefined) continue;
    refuse(`Parameter ${parameter.name} has no default, but is not an input of the route.`);
  }
}

function compareQueryRoutes(
  before: ManifestRoute,
  after: ManifestQueryRoute,
  manifests: Manifests,
  { breaking, compatible }: RouteChanges,
): void {
  if (before.kind !== after.kind) return;
  const old = manifests.before.queries.find((query) => query.id === before.query);
  const now = manifests.after.queries.find((query) => query.id === after.query);
  compareFileResponse(before, after, { breaking, compatible });
  compareUploads(before.uploads ?? [], after.uploads ?? [], { breaking, compatible });
  if (before.one_row !== after.one_row) breaking.push(after.one_row ? "it returns one row" : "it returns many rows");
  if (old === undefined || now === undefined) return;
  if (old.return_scalar !== now.return_scalar) {
    breaking.push(now.return_scalar ? "it returns bare values" : "it returns objects");
  }
  const outputsOf = (query: ManifestQuery) => query.query.select.map((value) => value.name);
  const isOptionalNow = (name: string) => now.parameters.some((known) => known.name === name && "default" in known);
  compareNames(
    { inputs: before.inputs, outputs: outputsOf(old) },
    { inputs: after.inputs, outputs: outputsOf(now) },
    isOptionalNow,
    { breaking, compatible },
  );
  if (breaking.length + compatible.length > 0) return;
  if (JSON.stringify([old.query, old.parameters]) !== JSON.stringify([now.query, now.parameters])) {
    compatible.push("its query changed");
  }
}

function compileQueryRoute(context: RouteContext, service: ManifestService, route: ManifestQueryRoute): CompiledRoute {
  const query = context.queries.open(route.query);
  const { query: named, asker, runner } = query;
  const parameters = compileParameters(named.parameters, route.inputs);
  const taken = named.parameters.filter(({ name }) => route.inputs.includes(name));
  const given = givenInArguments(taken, context.deps.media);
  const checkFiles = compileFileChecks(named.name, taken, context.deps.udf);
  const receive = compileForms(context, {
    uploads: route.uploads,
    fieldOf: (name) => taken.find((parameter) => parameter.name === name),
    isKept: (name) => named.query.select.some(({ expr }) => expr.node === "parameter" && expr.name === name),
  });
  const render = renderer(route, named);
  const { limits, deps } = context;
  /** Invalidates cursors of other queries, and of earlier versions of this query. */
  const shape = hash("sha256", JSON.stringify([named.id, named.query]));
  const isGet = route.method === "get";
  const takesPath = pathParameters(route).length > 0;

  function readArguments(request: RouteRequest, form?: ParsedBody): ReadRequest {
    const { asked: pageRequest, rest } = splitSearch(request.search ?? "");
    const path = takesPath ? request.route?.params : undefined;
    const args = isGet ? parameters.fromUrl(rest, path) : parameters.fromBody(form ?? request.body, path);
    given?.require(args, request.caller);
    return { asked: pageRequest, rest, args };
  }

  /** `key`: equal for equal requests, whose pages continue each other. */
  async function answerList(
    { args, rest, asked: pageRequest }: ReadRequest,
    request: RouteRequest,
    key: string,
  ): Promise<TextAnswer> {
    const { signal, timing } = request;
    if (pageRequest === undefined) {
      return { status: 200, headers: JSON_HEADERS, body: render(await asker.ask(args, { signal, timing })) };
    }
    if (route.one_row) refusePages();
    const scope = `${shape} ${key}`;
    const page = readPage(pageRequest, scope, limits.result_rows);
    const answer = await asker.ask(args, { signal, timing, page });
    const body = render(answer);
    if (answer.next == null) return { status: 200, headers: JSON_HEADERS, body };
    const link = linkToNext(isGet ? rest : "", page.size, writeQueryCursor(scope, page.size, answer.next));
    return { status: 200, headers: { ...JSON_HEADERS, link }, body };
  }

  /** The arguments with decoded files. */
  async function checked(read: ReadRequest, request: RouteRequest): Promise<ReadRequest> {
    if (checkFiles === undefined) return read;
    const args = (await given?.take(read.args)) ?? read.args;
    return { ...read, args: await checkFiles(args, request) };
  }

  async function answerForm(request: RouteRequest, receiveForm: NonNullable<typeof receive>): Promise<RouteAnswer> {
    if (wantsEvents(request)) refuseLiveForm();
    await using form = await receiveForm(request);
    const read = await checked(readArguments(request, await form.body()), request);
    return await answerList(read, request, form.content);
  }

  return {
    service: service.name,
    has_events: true,
    method: isGet ? "GET" : "POST",
    path: service.prefix + route.path,
    streams: receive === undefined ? [] : [FORM_TYPE],
    uses_python: runner.uses_python || checkFiles !== undefined,
    takes_signal: asker.takes_signal || checkFiles !== undefined,
    takes_address: takesPath,
    check: (request) => void readArguments(request),
    receiveForm: receiveLater(receive, (form, request) => readArguments(request, form)),
    async handle(request) {
      try {
        if (receive !== undefined && isForm(request)) return await answerForm(request, receive);
        const given = readArguments(request);
        const isLive = wantsEvents(request);
        if (isLive && given.asked !== undefined) refuseLivePages();
        const read = await checked(given, request);
        if (isLive) return await answerLive(context.live, query, read.args, request);
        const answer = await answerList(read, request, given.asked === undefined ? "" : asker.keyOf(given.args));
        return isGet ? withEtag(answer, request.headers) : answer;
      } catch (error) {
        return answerError(error, request.id, deps.log, request.signal);
      }
    },
  };
}

/** The arguments of a request, and the rest of its query string without the parameters of pages. */
interface ReadRequest {
  readonly args: QueryArguments;
  readonly asked: PageRequest | undefined;
  readonly rest: string;
}

type TextAnswer = RouteAnswer & { readonly body: string };

/** @throws row_not_found, several_rows from the writer of a route with one_row */
function renderer(route: ManifestQueryRoute, named: ManifestQuery): (answer: QueryAnswer) => string {
  if (!route.one_row) {
    return named.return_scalar ? ({ text }) => `[${text}]` : ({ text }) => `{"rows":[${text}]}`;
  }
  return ({ count, text }) => {
    if (count === 1) return text;
    if (count === 0) {
      throw appError("row_not_found", {
        detail: `The query ${named.name} found no row.`,
        hint: "Send other parameters.",
        meta: { query: named.name },
      });
    }
    throw appError("several_rows", {
      detail: `The query ${named.name} found ${count} rows; the route requires exactly one.`,
      hint: "Narrow the query by where(), or take the first row with limit(1).",
      meta: { query: named.name, rows: count },
    });
  };
}
