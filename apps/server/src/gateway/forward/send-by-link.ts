import { AppError } from "@appdb/contract/errors";
import { type LinkAnswer, LinkBroken } from "@appdb/pods/link/link";
import type { GatewayLimits } from "../../config/config-gateway.ts";
import type { ByteBudget } from "../admission/byte-budget.ts";
import { type Exchange, isGone } from "../exchange/exchange.ts";
import { bodyTooSlow, broken, noMemory, serviceTimedOut } from "../exchange/refusals.ts";
import { beginAnswer } from "./begin-answer.ts";
import { ownerOf } from "./follow-answer.ts";
import { answerHeaders, flatAnswerHeaders, hasBody, linkHeaders } from "./forwarded-headers.ts";
import { holdBody, letGoOfBody } from "./hold-body.ts";
import type { OpenPodLink } from "./pod-links.ts";
import type { Sent } from "./proxy-request.ts";

/** The longest body that is read before it is sent on. A longer one streams by HTTP, at the pace of the service. */
export const BUFFERED_BODY_BYTES = 65_536;
const JSON_TYPE = /^application\/json(; *charset=utf-8)?$/i;

/** Whether a request can go by a link: to a route that the pod named, with a short body of JSON or none, asked by no page and for no stream. */
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
 * Sends a request by a link and resolves when its answer has ended. The exchange keeps a body that was read until the link has it, and the
 * body of a `GET` until the answer: that one may be sent again.
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
    if (isGone(exchange)) return { outcome: "gone" };
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
      letGoOfBody(exchange, budget);
    }
    const timer = setTimeout(() => {
      call.cancel(serviceTimedOut(exchange.service, requestMs));
      // it waits for a client that takes nothing, and would hold its place as long
      if (res.headersSent) res.destroy();
    }, requestMs);
    const onClose = () => call.cancel(GONE);
    res.once("close", onClose);
    try {
      const answer = await call.answer;
      if (Buffer.isBuffer(answer.body)) return sendWhole(exchange, answer, answer.body);
      return await sendStream(exchange, answer, answer.body, { budget, wentOn: () => timer.refresh() });
    } catch (error) {
      // one whose head is none has a body that nobody will read
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

const GONE = new Error("The client is gone.");
const EMPTY = Buffer.alloc(0);

/** All of a body whose length was said; Node holds the sender to it. @throws GONE, body_timeout */
function readBody({ req }: Exchange, mostMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const timer = setTimeout(() => reject(bodyTooSlow()), mostMs);
    let hasEnded = false;
    req.on("data", (piece: Buffer) => pieces.push(piece));
    req.once("end", () => {
      hasEnded = true;
      clearTimeout(timer);
      resolve(pieces.length === 1 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces));
    });
    req.once("close", () => {
      // comes behind every end as well, and Node is told of each rejection that comes too late
      if (hasEnded) return;
      clearTimeout(timer);
      reject(GONE);
    });
  });
}

/** Shorter ones are sent in one piece with their head. */
const SHORT_BYTES = 16_384;

function sendWhole(exchange: Exchange, { headers, status }: LinkAnswer, body: Buffer): Sent {
  const { res } = exchange;
  writeHead(exchange, status, headers, status === 204 || status === 304 ? undefined : body.length);
  // Node joins a head with a text alone; in this encoding each byte is a character
  if (body.length > SHORT_BYTES) res.end(body);
  else endWithText(exchange, body.toString("latin1"));
  return { outcome: "answered", status };
}

/** In one piece with the head: `end(text)` would write a second, empty one with it. */
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

/** What a pod says of its length is not said on: Node does not hold a body to it, and what is more would be the next answer of the connection. */
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

/** `wentOn`: the service was heard, and the time for which it may be silent starts again. */
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
      if (isGone(exchange)) break;
      if (!res.write(piece)) {
        const held = res.writableLength;
        if (!budget.take(owner, held)) throw noMemory(budget.share_bytes);
        await drained(exchange);
        budget.give(owner, held);
      }
      wentOn();
    }
    res.end();
  } catch {
    // a client can tell a broken answer by its connection
    res.destroy();
  }
  return { outcome: "answered", status };
}

function drained(exchange: Exchange): Promise<void> {
  const { res } = exchange;
  if (isGone(exchange)) return Promise.resolve();
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

/** A name that comes several times has several values. */
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
