import { type Agent, type ClientRequest, type IncomingMessage, request as startRequest } from "node:http";
import type { Exchange } from "../exchange/exchange.ts";
import { bodyTooSlow, broken, noMemory, serviceTimedOut, tooLarge } from "../exchange/refusals.ts";
import { beginAnswer } from "./begin-answer.ts";
import { answerHeaders, hasBody, requestHeaders } from "./forwarded-headers.ts";
import { type Holding, type LoopShare, pump } from "./pump.ts";

export interface ProxyLimits {
  /** Maximum bytes of the body. A larger declared length was refused before. */
  readonly body_bytes: number;
  /** Maximum silence of the service. */
  readonly request_ms: number;
  /** Maximum silence of a client within a body. */
  readonly client_ms: number;
  /** Counts bytes that wait for a slow reader. `share_bytes` is the maximum of one organization. */
  readonly holding: Holding;
  readonly share_bytes: number;
  readonly turns: LoopShare;
}

/**
 * The result of sending. `not_sent`: nothing was sent, so another pod may be tried. `again`: it was sent, but repeating
 * is safe. `refused`: the gateway must answer. `gone`: the client disconnected.
 */
export type Sent =
  | { readonly outcome: "answered"; readonly status: number }
  | { readonly outcome: "not_sent" | "again" | "gone" }
  | { readonly outcome: "refused"; readonly error: Error };

/** Sends a request to a pod over HTTP, streaming both ways. Resolves when the service has ended its answer. */
export function proxyRequest(exchange: Exchange, agent: Agent, limits: ProxyLimits): Promise<Sent> {
  const { req, res } = exchange;
  return new Promise((resolve) => {
    const withBody = hasBody(exchange);
    let isSent = false;
    let hasAnswer = false;
    let refusal: Error | undefined;
    const upstream = startRequest({
      agent,
      method: req.method ?? "GET",
      path: exchange.path,
      headers: requestHeaders(exchange),
    });
    const giveUp = (error: Error) => {
      refusal ??= error;
      upstream.destroy();
    };
    const onClose = () => {
      stopBody();
      stopAnswer();
      upstream.destroy();
      resolve({ outcome: "gone" });
    };
    res.once("close", onClose);
    const settle = (sent: Sent) => {
      res.off("close", onClose);
      stopBody();
      stopAnswer();
      resolve(sent);
    };
    let stopBody: () => void = () => undefined;
    let stopAnswer: () => void = () => undefined;
    onConnected(upstream, () => {
      isSent = true;
      if (exchange.body !== undefined) return upstream.end(exchange.body);
      if (!withBody) return upstream.end();
      stopBody = sendBody(exchange, upstream, limits, giveUp);
    });
    upstream.setTimeout(limits.request_ms, () => giveUp(serviceTimedOut(exchange.service, limits.request_ms)));
    upstream.on("response", (answer) => {
      hasAnswer = true;
      try {
        beginAnswer(exchange, answer.statusCode ?? 0, answerHeaders(answer.headers, exchange));
      } catch (error) {
        upstream.destroy();
        return settle({ outcome: "refused", error: error instanceof Error ? error : new Error(String(error)) });
      }
      stopAnswer = sendAnswer(exchange, answer, limits, (isWhole) => {
        // stop a body that the service did not want
        if (!req.complete) upstream.destroy();
        if (!isWhole) res.destroy();
        settle({ outcome: "answered", status: answer.statusCode ?? 502 });
      });
    });
    const onFailed = () => {
      if (hasAnswer) return;
      if (refusal !== undefined) settle({ outcome: "refused", error: refusal });
      else if (!isSent) settle({ outcome: "not_sent" });
      else if (!withBody && (req.method === "GET" || req.method === "HEAD")) settle({ outcome: "again" });
      else settle({ outcome: "refused", error: broken(exchange.service, false) });
    };
    upstream.on("error", onFailed);
    // a pod that switches protocols causes no error event
    upstream.on("close", onFailed);
  });
}

/** Reads no body before the pod is connected: until then the request may go to another pod. */
function onConnected(upstream: ClientRequest, begin: () => void): void {
  upstream.once("socket", (socket) => {
    if (socket.connecting) socket.once("connect", begin);
    else begin();
  });
}

function sendBody(
  { req, res, awaits_continue: awaitsContinue }: Exchange,
  upstream: ClientRequest,
  { body_bytes: maxBytes, client_ms: clientMs, holding, share_bytes: shareBytes, turns }: ProxyLimits,
  giveUp: (error: Error) => void,
): () => void {
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) giveUp(tooLarge(maxBytes));
  };
  let seen = -1;
  const timer = setInterval(() => {
    // received but unread bytes are not the sender's delay
    if (req.complete || req.readableLength > 0 || bytes !== seen) seen = bytes;
    else giveUp(bodyTooSlow());
  }, clientMs);
  if (awaitsContinue) res.writeContinue();
  const end = () => upstream.end();
  req.on("data", count);
  req.once("end", end);
  const stop = pump({ from: req, to: upstream, holding, turns, refused: () => giveUp(noMemory(shareBytes)) });
  return () => {
    clearInterval(timer);
    req.off("data", count);
    req.off("end", end);
    req.pause();
    stop();
  };
}

/** Resolves when the service's part ends. The client may still read the rest. */
function sendAnswer(
  exchange: Exchange,
  answer: IncomingMessage,
  { holding, turns }: Pick<ProxyLimits, "holding" | "turns">,
  ended: (isWhole: boolean) => void,
): () => void {
  const { res } = exchange;
  answer.once("end", () => {
    res.end();
    ended(true);
  });
  answer.once("error", () => ended(false));
  answer.once("close", () => {
    if (!answer.readableEnded) ended(false);
  });
  return pump({ from: answer, to: res, holding, turns, refused: () => answer.destroy() });
}
