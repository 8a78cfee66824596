import { serviceUriOf } from "@appdb/contract/control/resource-names";
import { AppError } from "@appdb/contract/errors";
import { MEDIA_CORS } from "@appdb/contract/media";
import type { Logger } from "@appdb/engine/ports";
import type { RequestTracer } from "@appdb/engine/request-tracer";
import type { DocsFiles } from "@appdb/http/docs-files";
import type { Link } from "@appdb/pods/link/open-link";
import { keyAllows, type Verified } from "@appdb/system/keys/key-verifier";
import type { TurnShares } from "@appdb/system/network/turn-shares";
import type { GatewayLimits } from "../config/config-gateway.ts";
import type { KeyUses } from "../edge/key-uses.ts";
import type { ByteBudget } from "./admission/byte-budget.ts";
import type { OpenAnswers } from "./admission/open-answers.ts";
import type { RateLimits } from "./admission/rate-limits.ts";
import type { Strangers } from "./admission/strangers.ts";
import { type Exchange, type GatewayRequest, isDisconnected } from "./exchange/exchange.ts";
import * as refusals from "./exchange/refusals.ts";
import type { RequestCounts } from "./exchange/request-counts.ts";
import { shownText } from "./exchange/shown-key.ts";
import { answerDocs } from "./forward/answer-docs.ts";
import { answerPreflight, answerProblem } from "./forward/answer-problem.ts";
import { hasBody } from "./forward/forwarded-headers.ts";
import { holdBody, releaseBody } from "./forward/hold-body.ts";
import type { OwnedService, PodLinks } from "./forward/pod-links.ts";
import { type SendLimits, type Sent, sendByLink } from "./forward/send-by-link.ts";
import { isAsleep, type Waking } from "./forward/waking.ts";
import type { DatabaseKeys } from "./routing/database-keys.ts";
import type { KnownEndpoints } from "./routing/pod-endpoints.ts";
import {
  type FoundService,
  findServiceById,
  MEDIA_STORE,
  type RoutedDatabase,
  type RoutedService,
  type RoutingTable,
  servingInstance,
} from "./routing/routing-table.ts";
import type { StorePermits } from "./routing/store-permits.ts";
import { HSTS } from "./serve-requests.ts";
export interface HandleDeps {
  readonly log: Logger;
  readonly endpoints: KnownEndpoints;
  readonly limits: GatewayLimits;
  readonly table: RoutingTable;
  readonly keys: DatabaseKeys;
  readonly permits: StorePermits;
  readonly open_answers: Pick<OpenAnswers, "follow">;
  readonly key_uses: Pick<KeyUses, "note">;
  readonly links: PodLinks;
  readonly rates: RateLimits;
  readonly waking: Waking;
  readonly docs: DocsFiles;
  readonly tracer: RequestTracer | undefined;
  readonly counts: RequestCounts;
  readonly budget: ByteBudget;
  readonly strangers: Strangers;
  readonly shares: TurnShares;
}

/** How long a request waits for a service that restarts. */
const MOVE_MS = 5_000;
/** Pause before an unreachable pod is tried again, unless another pod serves by then. */
const TRY_AGAIN_MS = 100;
/** Attempts for a request without a key while its service moves to another pod. */
const STRANGER_TRIES = 3;

/** Sends a request to its service. Returns the status that the client got. */
export async function handleRequest(deps: HandleDeps, exchange: Exchange): Promise<number> {
  try {
    const sent = await routeRequest(deps, exchange);
    return sent.outcome === "answered" ? sent.status : 499;
  } catch (error) {
    if (!(error instanceof AppError)) {
      deps.log.error({ err: error, req: exchange.id }, "the gateway failed to handle a request");
    }
    return (await answerUnknown(deps, exchange, error)) ?? answerProblem(exchange, error);
  }
}

/** Handles a caller whose key is not verified yet. */
async function answerUnknown(
  { docs, strangers }: HandleDeps,
  exchange: Exchange,
  error: unknown,
): Promise<number | undefined> {
  if (!(error instanceof AppError) || error.code !== "unauthorized") return undefined;
  try {
    return await answerDocs(exchange, docs, strangers);
  } catch (refusal) {
    return answerProblem(exchange, refusal);
  }
}

async function routeRequest(deps: HandleDeps, exchange: Exchange): Promise<Sent> {
  const { req, database } = exchange;
  const url = req.url ?? "";
  if (database === undefined) throw refusals.noDatabase(exchange.host);
  if (!url.startsWith("/") || hasTwoHosts(req)) throw refusals.badTarget();
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  const found = deps.table.find(database, path);
  if (found?.service.name === MEDIA_STORE) return await answerStore(deps, exchange, database, found);
  exchange.cors = found !== undefined && isSignedPath(found.rest) ? MEDIA_CORS : found?.service.cors;
  const is_open = found !== undefined && isOpen(exchange, found);
  if (!is_open) {
    const shown = shownKey(exchange);
    const answer = deps.keys.verify(database, shown);
    // usually known at once: awaiting a plain value would cost a turn of the event loop
    checkKey(deps, exchange, database, found, "then" in answer ? await answer : answer);
  }
  if (database.is_suspended) throw is_open ? refusals.notServing(false) : refusals.suspended(database);
  if (found === undefined) throw refusals.noService(path);
  exchange.service = found.service.name;
  exchange.service_id = found.service.id;
  exchange.path = query < 0 ? found.rest : found.rest + url.slice(query);
  if (req.headers.upgrade?.toLowerCase() === "websocket") throw refusals.refusedWebSocket();
  const bodyBytes = bodyLimit(deps.limits, req.headers["content-type"]);
  if (Number(req.headers["content-length"] ?? 0) > bodyBytes) throw refusals.tooLarge(bodyBytes);
  if (is_open) return await answerKeyless(deps, exchange, database, found.service);
  // only with a key: callers without one must not fill the collector
  if (deps.tracer !== undefined) beginTrace(deps.tracer, exchange, database);
  deps.counts.begin(database, found.service);
  try {
    return await sendOn(deps, exchange, found.service, bodyBytes);
  } finally {
    deps.counts.end(database, found.service);
    releaseBody(exchange, deps.budget);
  }
}

/** Sends a request to the media store of the database, whose signed address takes the place of a key. */
async function answerStore(
  deps: HandleDeps,
  exchange: Exchange,
  database: RoutedDatabase,
  { rest, service }: FoundService,
): Promise<Sent> {
  const { req } = exchange;
  const search = (req.url ?? "").slice((req.url ?? "").indexOf("?") + 1);
  const permit = await deps.permits.read(database, search);
  if (database.is_suspended) throw refusals.suspended(database);
  exchange.service = service.name;
  exchange.path = `${rest}?${search}`;
  exchange.caller = { id: database.id, name: permit.action, reads_media: false };
  const bodyBytes = permit.action === "put" ? permit.bytes : 0;
  if (Number(req.headers["content-length"] ?? 0) > bodyBytes) throw refusals.tooLarge(bodyBytes);
  const rate = deps.rates.take(database.id, database.id);
  if (rate?.is_allowed === false) throw refusals.rateLimited(deps.limits.key_rate, rate.wait_s);
  deps.counts.begin(database, service);
  try {
    return await sendOn(deps, exchange, service, bodyBytes);
  } finally {
    deps.counts.end(database, service);
    releaseBody(exchange, deps.budget);
  }
}

/** Answers a request without a key. It neither wakes nor waits, and uses no slot of the service. @throws overloaded */
async function answerKeyless(
  deps: HandleDeps,
  exchange: Exchange,
  database: RoutedDatabase,
  service: RoutedService,
): Promise<Sent> {
  // an announced body that never arrives would occupy a slot
  if (announcesBody(exchange.req)) throw refusals.keylessBodyRefused();
  const status = answerPreflight(exchange);
  if (status !== undefined) return { outcome: "answered", status };
  const strangerLimits = sendLimits(deps, 0, deps.limits.client_ms);
  if (!isSignedPath(exchange.path)) {
    deps.strangers.begin(exchange);
    return await sendKeyless(deps, exchange, database, service, strangerLimits);
  }
  const admitted = await deps.strangers.beginSoon(exchange);
  let isCounted = false;
  // the service knows the signature: who has a right is counted as a caller with a key
  const admission = {
    request_ms: deps.limits.request_ms,
    admits(answered: number) {
      if (answered >= 400) return false;
      deps.counts.begin(database, service);
      isCounted = true;
      admitted();
      return true;
    },
  };
  try {
    return await sendKeyless(deps, exchange, database, service, { ...strangerLimits, admission });
  } finally {
    if (isCounted) deps.counts.end(database, service);
  }
}

async function sendKeyless(
  deps: HandleDeps,
  exchange: Exchange,
  database: RoutedDatabase,
  service: RoutedService,
  strangerLimits: SendLimits,
): Promise<Sent> {
  let current = service;
  for (let tries = 0; tries < STRANGER_TRIES; tries += 1) {
    const instance = servingInstance(current);
    if (instance === undefined) throw refusals.notServing(isAsleep(exchange.database ?? database, current));
    const sent = await sendTo(deps, exchange, { database, service: current, instance }, strangerLimits);
    if (sent.outcome === "refused") throw sent.error;
    if (sent.outcome !== "not_sent" && sent.outcome !== "again") return sent;
    await deps.table.changed(database.id, TRY_AGAIN_MS);
    current = reloadService(deps, exchange, current);
  }
  throw refusals.notServing(false);
}

function sendLimits(
  { budget, limits, open_answers: openAnswers, shares }: HandleDeps,
  bodyBytes: number,
  maxMs = limits.request_ms,
): SendLimits {
  return {
    body_bytes: bodyBytes,
    client_ms: limits.client_ms,
    request_ms: Math.min(limits.request_ms, maxMs),
    budget,
    shares,
    open_answers: openAnswers,
  };
}

/** Starts a trace that the service continues. Records only the routed part of the path: the rest may hold values. */
function beginTrace(tracer: RequestTracer, exchange: Exchange, { name, organization }: RoutedDatabase): void {
  const { id, req, service } = exchange;
  const { headers, method = "" } = req;
  const uri = serviceUriOf(organization, name, service);
  exchange.trace = tracer.begin({ service: uri, method, route: `/${service}/*`, id, headers });
  if (exchange.trace !== undefined) headers.traceparent = exchange.trace.traceparent;
}

/** HTTP/2 keeps the stream open without a body too, so only the length tells. */
function announcesBody({ headers }: GatewayRequest): boolean {
  return Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined;
}

/** Node uses the first host, others the last. */
function hasTwoHosts({ rawHeaders, httpVersionMajor }: GatewayRequest): boolean {
  if (httpVersionMajor > 1) return false;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** Whether the request needs no key: a health check, a browser's preflight, or a signed address. */
function isOpen({ req }: Exchange, { rest }: FoundService): boolean {
  if (req.method === "OPTIONS") {
    return req.headers["access-control-request-method"] !== undefined && req.headers.origin !== undefined;
  }
  if (req.method !== "GET" && req.method !== "HEAD") return false;
  return rest === "/health" || (isSignedPath(rest) && shownText(req) === undefined);
}

/** The addresses of media in a service's answers: `/_media/<token>/<name>`. No route begins like this. */
function isSignedPath(path: string): boolean {
  return path.startsWith("/_media/");
}

/** @throws unauthorized */
function shownKey({ req }: Exchange): string {
  const shown = shownText(req);
  if (shown === undefined) throw refusals.noKey(false);
  return shown;
}

/** Runs before the answer reveals any service. @throws unauthorized, forbidden, keys_unavailable, rate_limited */
function checkKey(
  deps: HandleDeps,
  exchange: Exchange,
  database: RoutedDatabase,
  found: FoundService | undefined,
  verified: Verified,
): void {
  if (verified.outcome !== "good") {
    throw verified.outcome === "stale" ? refusals.keysUnavailable() : refusals.noKey(true);
  }
  const { key } = verified;
  deps.key_uses.note(key.id);
  exchange.key = key.name;
  const { organization, name } = database;
  const reads = { verb: "access", organization, database: name, service: null } as const;
  exchange.caller = { id: key.id, name: key.name, reads_media: keyAllows(key, reads) };
  const rate = deps.rates.take(database.id, key.id);
  if (rate !== null) {
    // assign a whole object: adding single properties costs as much as the key check
    exchange.headers = {
      "x-request-id": exchange.id,
      "ratelimit-policy": `"key";q=${deps.limits.key_rate};w=1`,
      ratelimit: `"key";r=${rate.left};t=1`,
    };
    if (exchange.has_tls) Object.assign(exchange.headers, HSTS);
    if (!rate.is_allowed) throw refusals.rateLimited(deps.limits.key_rate, rate.wait_s);
  }
  if (found === undefined) return;
  const service = found.service.name;
  if (!keyAllows(key, { verb: "access", organization, database: name, service })) throw refusals.keyNotGranted(service);
}

function bodyLimit(limits: GatewayLimits, type: string | undefined): number {
  return type !== undefined && /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)
    ? limits.body_bytes
    : limits.upload_bytes;
}

/** Sends to the serving instance, and to the next one if that was not reached. */
async function sendOn(deps: HandleDeps, exchange: Exchange, service: RoutedService, bodyBytes: number): Promise<Sent> {
  const { table } = deps;
  const limits = sendLimits(deps, bodyBytes);
  let current = service;
  let until: number | undefined;
  for (;;) {
    const instance = servingInstance(current);
    const { database } = exchange;
    if (instance !== undefined && database !== undefined) {
      const sent = await sendTo(deps, exchange, { database, service: current, instance }, limits);
      if (sent.outcome === "refused") throw sent.error;
      if (sent.outcome !== "not_sent" && sent.outcome !== "again") return sent;
      until ??= performance.now() + MOVE_MS;
      if (performance.now() >= until) throw refusals.broken(current.name, true);
      await holdBodyDuring(deps, exchange, () => table.changed(database.id, TRY_AGAIN_MS));
    } else {
      await holdBodyDuring(deps, exchange, () => deps.waking.waitFor(exchange, current));
    }
    if (isDisconnected(exchange)) return { outcome: "gone" };
    current = reloadService(deps, exchange, current);
  }
}

const NOT_SENT: Sent = { outcome: "not_sent" };

interface ServingPod {
  readonly database: RoutedDatabase;
  readonly service: RoutedService;
  readonly instance: number;
}

/** Sends to an instance by its link. Opens a missing link first. */
async function sendTo(deps: HandleDeps, exchange: Exchange, pod: ServingPod, limits: SendLimits): Promise<Sent> {
  const found = findLink(deps, pod);
  // an open link costs no turn of the event loop
  if (!("then" in found)) return await sendByLink(exchange, found, limits);
  let link: Link | undefined;
  await holdBodyDuring(deps, exchange, async () => {
    link = await found;
  });
  return link === undefined ? NOT_SENT : await sendByLink(exchange, link, limits);
}

/** The link to an instance: directly for an instance whose endpoints are known and whose link is open. */
function findLink(
  { endpoints, links, log }: HandleDeps,
  { database: { id: databaseId, org_id: orgId }, instance, service: { id } }: ServingPod,
): Link | Promise<Link | undefined> {
  const owned: OwnedService = { id, database_id: databaseId, org_id: orgId };
  const known = endpoints.of(databaseId, id, instance);
  if (!(known instanceof Promise)) return links.find(known.link, owned, instance);
  return known.then(
    ({ link }) => links.find(link, owned, instance),
    (error: unknown) => {
      log.debug({ err: error, service: id }, "the driver does not know how to reach a pod");
      return undefined;
    },
  );
}

/** Counts the buffered part of an unread body. @throws overloaded */
async function holdBodyDuring({ budget }: HandleDeps, exchange: Exchange, wait: () => Promise<void>): Promise<void> {
  const isNew = exchange.held_bytes === 0 && hasBody(exchange);
  if (isNew) {
    const { headers, readableHighWaterMark } = exchange.req;
    const contentLength = Number(headers["content-length"] ?? readableHighWaterMark);
    holdBody(exchange, budget, Math.min(contentLength, readableHighWaterMark));
  }
  try {
    await wait();
  } finally {
    if (isNew) releaseBody(exchange, budget);
  }
}

/** The current state of the service. @throws service_not_found if it was removed meanwhile */
function reloadService({ table }: HandleDeps, exchange: Exchange, { id, name }: RoutedService): RoutedService {
  exchange.database = exchange.database && table.byId(exchange.database.id);
  const found = exchange.database && findServiceById(exchange.database, id);
  if (found === undefined) throw refusals.noService(`/${name}`);
  return found;
}
