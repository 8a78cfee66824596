import { AppError } from "@appdb/contract/errors";
import { type LinkAnswer, LinkBroken } from "@appdb/pods/link/link";
import type { GatewayLimits } from "../../config/config-gateway.ts";
import type { ByteBudget } from "../admission/byte-budget.ts";
import { type Exchange, isDisconnected } from "../exchange/exchange.ts";
import { bodyTooSlow, broken, noMemory, serviceTimedOut } from "../exchange/refusals.ts";
import { beginAnswer } from "./begin-answer.ts";
import { ownerOf } from "./follow-answer.ts";
import { answerHeaders, flatAnswerHeaders, hasBody, linkHeaders } from "./forwarded-headers.ts";
import { holdBody, releaseBody } from "./hold-body.ts";
import type { OpenPodLink } from "./pod-links.ts";
import type { Sent } from "./proxy-request.ts";

/** The longest body that is buffered. A longer one streams over HTTP, at the service's pace. */
export const BUFFERED_BODY_BYTES = 65_536;
const JSON_TYPE = /^application\/json(; *charset=utf-8)?$/i;

/** Whether a request may use a link: an announced route, a short JSON body or none, no page's origin, and no stream. */
export function fitsLink(exchange: Exchange, { routes }: Pick<OpenPodLink, "routes">): boolean {
  const { req, path, awaits_continue: awaitsContinue } = exchange;
  const { headers, method = "GET" } = req;
  const query = path.indexOf("?");
  if (!routes.has(`${method} ${query < 0 ? path : path.slice(0, query)}`)) return false;
  if (awaitsContinue || headers.origin !== undefined || headers["content-encoding"] !== undefined) return false;
  if (headers.accept?.includes("text/event-stream") === true) return false;
  if (!hasBody(exchange)) return true;
  const length = Number(headers["content-length"] ?? Number.NaN);
  return length <= BUFFERED_BODY_BYTES && JSON_TYPE.test(headers["content-type"] ?? "");
}

/**
 * Sends a request by link. Resolves when its answer has ended. The exchange keeps a buffered body until the link has
 * sent it. A `GET` keeps it until the answer, because it may be sent again.
 */
export async function sendByLink(
  exchange: Exchange,
  { link }: OpenPodLink,
  { client_ms: clientMs, request_ms: requestMs }: Pick<GatewayLimits, "client_ms" | "request_ms">,
  budget: ByteBudget,
): Promise<Sent> {
  const { req, res } = exchange;
  try {
    if (exchange.body === undefined && hasBody(exchange)) {
      holdBody(exchange, budget, Number(req.headers["content-length"]));
      exchange.body = await readBody(exchange, clientMs);
    }
    if (isDisconnected(exchange)) return { outcome: "gone" };
    const query = exchange.path.indexOf("?");
    const call = link.start({
      method: req.method ?? "GET",
      path: query < 0 ? exchange.path : exchange.path.slice(0, query),
      search: query < 0 ? "" : exchange.path.slice(query + 1),
      headers: linkHeaders(exchange),
      body: exchange.body ?? EMPTY,
      id: exchange.id,
      caller: exchange.caller,
    });
    if (exchange.body !== undefined && req.method !== "GET") {
      exchange.body = undefined;
      releaseBody(exchange, budget);
    }
    const timer = setTimeout(() => {
      call.cancel(serviceTimedOut(exchange.service, requestMs));
      // otherwise a client that reads nothing would occupy a slot that long
      if (res.headersSent) res.destroy();
    }, requestMs);
    const onClose = () => call.cancel(GONE);
    res.once("close", onClose);
    try {
      const answer = await call.answer;
      if (Buffer.isBuffer(answer.body)) return sendWhole(exchange, answer, answer.body);
      return await sendStream(exchange, answer, answer.body, { budget, wentOn: () => timer.refresh() });
    } catch (error) {
      // an answer with an invalid head: its body is not read
      call.cancel(GONE);
      throw error;
    } finally {
      clearTimeout(timer);
      res.off("close", onClose);
    }
  } catch (error) {
    if (error === GONE) return { outcome: "gone" };
    if (error instanceof AppError) return { outcome: "refused", error };
    if (!(error instanceof LinkBroken)) throw error;
    if (error.outcome === "not_sent") return { outcome: "not_sent" };
    if (req.method === "GET") return { outcome: "again" };
    return { outcome: "refused", error: broken(exchange.service, false) };
  }
}

const GONE = new Error("The client disconnected.");
const EMPTY = Buffer.alloc(0);

/** Reads a body with a declared length, which Node enforces. @throws GONE, body_timeout */
function readBody({ req }: Exchange, maxMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const timer = setTimeout(() => reject(bodyTooSlow()), maxMs);
    let hasEnded = false;
    req.on("data", (piece: Buffer) => pieces.push(piece));
    req.once("end", () => {
      hasEnded = true;
      clearTimeout(timer);
      resolve(pieces.length === 1 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces));
    });
    req.once("close", () => {
      // `close` follows every end, and each late rejection costs time in Node
      if (hasEnded) return;
      clearTimeout(timer);
      reject(GONE);
    });
  });
}

/** A shorter answer is written together with its head. */
const SHORT_BYTES = 16_384;

function sendWhole(exchange: Exchange, { headers, status }: LinkAnswer, body: Buffer): Sent {
  const { res } = exchange;
  writeHead(exchange, status, headers, status === 204 || status === 304 ? undefined : body.length);
  // Node joins only strings with the head; in this encoding each byte is one character
  if (body.length > SHORT_BYTES) res.end(body);
  else endWithText(exchange, body.toString("latin1"));
  return { outcome: "answered", status };
}

/** Writes the body with the head: `end(text)` would add a second, empty write. */
function endWithText({ req, res }: Exchange, text: string): void {
  if (req.httpVersionMajor !== 1 || req.socket.writableCorked > 0) {
    res.end(text, "latin1");
    return;
  }
  req.socket.cork();
  res.write(text, "latin1");
  req.socket.uncork();
  res.end();
}

/** Ignores the pod's length: Node does not enforce it, and excess bytes would become the connection's next answer. */
function writeHead(exchange: Exchange, status: number, headers: readonly string[], length: number | undefined): void {
  if (exchange.req.httpVersionMajor === 1) {
    const sent = flatAnswerHeaders(headers, exchange);
    if (length !== undefined) sent.push("content-length", length);
    beginAnswer(exchange, status, sent);
    return;
  }
  const sent = answerHeaders(toHeaders(headers), exchange);
  delete sent["content-length"];
  if (length !== undefined) sent["content-length"] = length;
  beginAnswer(exchange, status, sent);
}

/** `wentOn`: called when the service sends something, to restart the silence timeout. */
async function sendStream(
  exchange: Exchange,
  { headers, status }: LinkAnswer,
  body: AsyncIterable<Uint8Array>,
  { budget, wentOn }: { readonly budget: ByteBudget; wentOn(): void },
): Promise<Sent> {
  const { res } = exchange;
  const owner = ownerOf(exchange);
  wentOn();
  writeHead(exchange, status, headers, undefined);
  try {
    for await (const piece of body) {
      if (isDisconnected(exchange)) break;
      if (!res.write(piece)) {
        const bufferedBytes = res.writableLength;
        if (!budget.tryReserve(owner, bufferedBytes)) throw noMemory(budget.share_bytes);
        await drained(exchange);
        budget.give(owner, bufferedBytes);
      }
      wentOn();
    }
    res.end();
  } catch {
    // the closed connection shows the client that the answer is incomplete
    res.destroy();
  }
  return { outcome: "answered", status };
}

function drained(exchange: Exchange): Promise<void> {
  const { res } = exchange;
  if (isDisconnected(exchange)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      res.off("drain", done);
      res.off("close", done);
      resolve();
    };
    res.once("drain", done);
    res.once("close", done);
  });
}

/** Collects repeated names into lists. */
function toHeaders(flat: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = (flat[at] ?? "").toLowerCase();
    const value = flat[at + 1] ?? "";
    const before = headers[name];
    headers[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return headers;
}
