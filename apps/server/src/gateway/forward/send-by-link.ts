import { AppError } from "@appdb/contract/errors";
import type { LinkMemory, OutgoingBody } from "@appdb/pods/link/bodies";
import { type LinkAnswer, LinkBroken } from "@appdb/pods/link/link";
import type { Link } from "@appdb/pods/link/open-link";
import type { TurnShares } from "@appdb/system/network/turn-shares";
import { type ByteBudget, STRANGERS } from "../admission/byte-budget.ts";
import type { OpenAnswers } from "../admission/open-answers.ts";
import { type Exchange, isDisconnected } from "../exchange/exchange.ts";
import { bodyTooSlow, broken, noMemory, serviceTimedOut, tooLarge } from "../exchange/refusals.ts";
import { beginAnswer } from "./begin-answer.ts";
import { ownerOf } from "./follow-answer.ts";
import { answerHeaders, flatAnswerHeaders, hasBody, linkHeaders } from "./forwarded-headers.ts";
import { holdBody, releaseBody } from "./hold-body.ts";
import { pump } from "./pump.ts";
import { dropRest, keepForRest } from "./unread-body.ts";

/** The longest body that is buffered. A longer one streams at the service's pace. */
export const BUFFERED_BODY_BYTES = 65_536;
const JSON_TYPE = /^application\/json(; *charset=utf-8)?$/i;

export interface SendLimits {
  /** Maximum bytes of the body. A larger declared length was refused before. */
  readonly body_bytes: number;
  /** Maximum silence of the service. */
  readonly request_ms: number;
  /** Maximum silence of a client within a body. */
  readonly client_ms: number;
  readonly budget: ByteBudget;
  readonly shares: TurnShares;
  readonly open_answers: Pick<OpenAnswers, "follow">;
  /** Of a signed address: its service decides whether it gets its answer as a request with a key does. */
  readonly admission?: Admission;
}

interface Admission {
  /** Whether an answer's status says so. @throws overloaded */
  admits(status: number): boolean;
  /** Maximum silence from then on. */
  readonly request_ms: number;
}

/**
 * The result of sending. `not_sent`: nothing was sent, so another pod may be tried. `again`: it was sent, but repeating
 * is safe. `refused`: the gateway must answer. `gone`: the client disconnected.
 */
export type Sent =
  | { readonly outcome: "answered"; readonly status: number }
  | { readonly outcome: "not_sent" | "again" | "gone" }
  | { readonly outcome: "refused"; readonly error: Error };

/**
 * Sends a request by link. Resolves when the service has ended its answer. The exchange keeps a buffered body until the
 * link has sent it. A `GET` keeps it until the answer, because it may be sent again.
 */
export async function sendByLink(exchange: Exchange, link: Link, limits: SendLimits): Promise<Sent> {
  const { req, res } = exchange;
  const { budget, request_ms: requestMs } = limits;
  const streams = exchange.body === undefined && hasBody(exchange) && !isShort(exchange);
  try {
    if (exchange.body === undefined && hasBody(exchange) && !streams) {
      holdBody(exchange, budget, Number(req.headers["content-length"]));
      exchange.body = await readBody(exchange, limits.client_ms);
    }
    if (isDisconnected(exchange)) return { outcome: "gone" };
    const query = exchange.path.indexOf("?");
    // the organization does not pay for answers to callers without a key
    const memory = exchange.caller === null ? strangersMemory(budget) : undefined;
    const call = link.start(
      {
        method: req.method ?? "GET",
        path: query < 0 ? exchange.path : exchange.path.slice(0, query),
        search: query < 0 ? "" : exchange.path.slice(query + 1),
        headers: linkHeaders(exchange),
        body: streams ? undefined : (exchange.body ?? EMPTY),
        id: exchange.id,
        caller: exchange.caller,
        host: exchange.host,
        client_address: exchange.client_address,
        is_secure: exchange.is_secure,
      },
      memory,
    );
    if (exchange.body !== undefined && req.method !== "GET") {
      exchange.body = undefined;
      releaseBody(exchange, budget);
    }
    const giveUp = () => {
      call.cancel(serviceTimedOut(exchange.service, requestMs));
      // otherwise a client that reads nothing would occupy a slot that long
      if (res.headersSent) res.destroy();
    };
    let timer = setTimeout(giveUp, requestMs);
    const wentOn = () => void timer.refresh();
    const onClose = () => call.cancel(GONE);
    res.once("close", onClose);
    const stopBody =
      call.body === undefined ? undefined : sendBody(exchange, call.body, limits, { giveUp: call.cancel, wentOn });
    let isAnswered = false;
    try {
      const answer = await call.answer;
      if (limits.admission?.admits(answer.status) === true) {
        exchange.is_admitted = true;
        memory?.moveTo(ownerOf(exchange));
        clearTimeout(timer);
        timer = setTimeout(giveUp, limits.admission.request_ms);
      }
      if (stopBody !== undefined) keepForRest(exchange);
      isAnswered = true;
      if (Buffer.isBuffer(answer.body)) return sendWhole(exchange, answer, answer.body);
      return await sendStream(exchange, answer, answer.body, { limits, wentOn });
    } catch (error) {
      // an answer with an invalid head: its body is not read
      call.cancel(GONE);
      throw error;
    } finally {
      clearTimeout(timer);
      stopBody?.();
      if (isAnswered && stopBody !== undefined) dropRest(exchange);
      res.off("close", onClose);
    }
  } catch (error) {
    if (error === GONE) return { outcome: "gone" };
    if (error instanceof AppError) return { outcome: "refused", error };
    if (!(error instanceof LinkBroken)) throw error;
    if (error.outcome === "not_sent") return { outcome: "not_sent" };
    if (!streams && (req.method === "GET" || req.method === "HEAD")) return { outcome: "again" };
    return { outcome: "refused", error: broken(exchange.service, false) };
  }
}

/** Whether a body is buffered before it is sent. */
function isShort({ req: { headers } }: Exchange): boolean {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return length <= BUFFERED_BODY_BYTES && JSON_TYPE.test(headers["content-type"] ?? "");
}

/** Memory that counts for callers without a key until it moves to another owner. */
function strangersMemory(budget: ByteBudget): LinkMemory & { moveTo(owner: string): void } {
  let owner = STRANGERS;
  let held = 0;
  const add = (bytes: number) => {
    held += bytes;
    budget.add(owner, bytes);
  };
  return {
    take(bytes) {
      if (!budget.tryReserve(owner, bytes)) return false;
      held += bytes;
      return true;
    },
    add,
    give(bytes) {
      held -= bytes;
      budget.give(owner, bytes);
    },
    moveTo(next) {
      const moved = held;
      budget.give(owner, moved);
      owner = next;
      budget.add(owner, moved);
    },
  };
}

interface Sending {
  giveUp(error: Error): void;
  /** Called when the service reads something, to restart the silence timeout. */
  wentOn(): void;
}

/** Streams a body to the service at the slower pace of the two. Returns a function that stops it. */
function sendBody(
  exchange: Exchange,
  to: OutgoingBody,
  { body_bytes: maxBytes, budget, client_ms: clientMs, shares }: SendLimits,
  { giveUp, wentOn }: Sending,
): () => void {
  const { req, res, awaits_continue: awaitsContinue } = exchange;
  const owner = ownerOf(exchange);
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) giveUp(tooLarge(maxBytes));
    else wentOn();
  };
  let seen = -1;
  const timer = setInterval(() => {
    // received but unread bytes are not the sender's delay
    if (req.complete || req.readableLength > 0 || bytes !== seen) seen = bytes;
    else giveUp(bodyTooSlow());
  }, clientMs);
  if (awaitsContinue) res.writeContinue();
  const end = () => void to.end();
  req.on("data", count);
  req.once("end", end);
  const stop = pump({
    from: req,
    to,
    holding: { take: (held) => budget.tryReserve(owner, held), give: (held) => budget.give(owner, held) },
    turns: { count: (moved) => shares.count(owner, moved), onNextTurn: (resume) => shares.onNextTurn(owner, resume) },
    refused: () => giveUp(noMemory(budget.share_bytes)),
  });
  return () => {
    clearInterval(timer);
    req.off("data", count);
    req.off("end", end);
    req.pause();
    stop();
  };
}

const GONE = new Error("The client disconnected.");
const EMPTY = Buffer.alloc(0);

/** Reads a body with a declared length, which Node enforces. @throws GONE, body_timeout */
function readBody({ req, res, awaits_continue: awaitsContinue }: Exchange, maxMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const timer = setTimeout(() => reject(bodyTooSlow()), maxMs);
    let hasEnded = false;
    if (awaitsContinue) res.writeContinue();
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
  const isBodiless = hasNoBody(exchange, status);
  writeHead(exchange, status, headers, isBodiless ? declaredLength(headers) : body.length);
  // Node joins only strings with the head; in this encoding each byte is one character
  if (isBodiless) res.end();
  else if (body.length > SHORT_BYTES) res.end(body);
  else endWithText(exchange, body.toString("latin1"));
  return { outcome: "answered", status };
}

function hasNoBody({ req }: Exchange, status: number): boolean {
  return req.method === "HEAD" || status === 204 || status === 304;
}

/** The pod's length of the body. Undefined if missing or invalid. */
function declaredLength(headers: readonly string[]): number | undefined {
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] ?? "";
    if (headers[at]?.toLowerCase() === "content-length" && /^\d{1,15}$/.test(value)) return Number(value);
  }
  return undefined;
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

/** The caller enforces `length`: Node does not, and excess bytes would become the connection's next answer. */
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

async function sendStream(
  exchange: Exchange,
  { headers, status }: LinkAnswer,
  body: AsyncIterable<Uint8Array>,
  { limits, wentOn }: { readonly limits: SendLimits; wentOn(): void },
): Promise<Sent> {
  const { res } = exchange;
  const { budget, open_answers: openAnswers, shares } = limits;
  const owner = ownerOf(exchange);
  const declared = declaredLength(headers);
  let left = declared ?? Number.POSITIVE_INFINITY;
  wentOn();
  writeHead(exchange, status, headers, declared);
  const unfollow = openAnswers.follow(exchange);
  try {
    if (!hasNoBody(exchange, status)) {
      for await (const piece of body) {
        if (isDisconnected(exchange)) break;
        left -= piece.length;
        if (left < 0) throw broken(exchange.service, false);
        if (!res.write(piece)) {
          const bufferedBytes = res.writableLength;
          if (!budget.tryReserve(owner, bufferedBytes)) throw noMemory(budget.share_bytes);
          await drained(exchange);
          budget.give(owner, bufferedBytes);
        }
        if (!shares.count(owner, piece.length)) await new Promise<void>((resolve) => shares.onNextTurn(owner, resolve));
        wentOn();
      }
      if (declared !== undefined && left > 0) throw broken(exchange.service, false);
    }
    res.end();
  } catch {
    // the closed connection shows the client that the answer is incomplete; the bytes of this turn leave first
    setImmediate(() => res.destroy());
  } finally {
    unfollow();
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
