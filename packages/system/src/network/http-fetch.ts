import type { IncomingMessage, RequestOptions } from "node:http";
import { hostname, platform } from "node:os";
import type { Fetched, FetchLike } from "@appdb/contract/clients/client";
import { VERSION } from "@appdb/contract/version";
import { headersOf } from "./headers-of.ts";
import { writeBody } from "./write-body.ts";

/** A reachable server accepts a connection within milliseconds; behind a firewall that drops packets it never does. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Longer than any long-polling answer (`?wait_ms=30000`). */
const ANSWER_TIMEOUT_MS = 60_000;
const PIECE_BYTES = 256 * 1024;

/** A stream is sent as it comes, also while the answer arrives. */
export type SentBody = string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>;

/** Shown on the confirmation page of a sign-in and in the list of sessions. */
const USER_AGENT = `cli/${VERSION} (${platform()}; ${hostname().replace(/[^\x21-\x7e]/g, "?")})`;

/** `fetch` over node:http and node:https. Loading the global one costs a command 15 ms more. */
export const httpFetch: FetchLike<Fetched, SentBody> = async (url, { method, headers, body, onSent, signal }) => {
  const { request } = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  const options: RequestOptions = {
    method,
    headers: {
      "user-agent": USER_AGENT,
      ...headers,
      ...(body === undefined || isStream(body) ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    },
    // There are only a few requests; a kept connection would delay the command's end.
    agent: false,
    ...(signal === undefined ? {} : { signal }),
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, options);
    const giveUp = (ms: number, what: string) => setTimeout(() => sent.destroy(timeoutError(what, ms)), ms);
    let timer = giveUp(CONNECT_TIMEOUT_MS, "no connection");
    let isEnded = false;
    let isConnected = false;
    const waitOn = (what: string) => {
      clearTimeout(timer);
      if (!isEnded) timer = giveUp(ANSWER_TIMEOUT_MS, what);
    };
    sent.on("socket", (socket) => {
      const ready = url.startsWith("https:") ? "secureConnect" : "connect";
      socket.once(ready, () => {
        isConnected = true;
      });
      socket.once("connect", () => {
        waitOn("no answer");
        // Distinguishes an event stream that is silent for hours from a server that vanished.
        socket.setKeepAlive(true, 30_000);
      });
    });
    sent.on("response", (answer) => {
      isEnded = true;
      clearTimeout(timer);
      resolve(answer);
    });
    sent.on("error", (error) => {
      isEnded = true;
      clearTimeout(timer);
      // Nothing was sent, as the callers of `isBroken` need to know.
      reject(isConnected ? error : Object.assign(error, { syscall: "connect" }));
    });
    if (body === undefined || typeof body === "string") {
      sent.end(body);
      return;
    }
    const isStreamed = isStream(body);
    const progress = {
      // The work on a stream takes as long as its rows do, and so does its source.
      onWait: () => (isStreamed ? clearTimeout(timer) : waitOn("no answer")),
      // uploads are timed per piece, so that a slow line is not a timeout
      onWrite: () => waitOn("nothing was taken"),
      ...(onSent === undefined ? {} : { onSent }),
    };
    writeBody(sent, isStreamed ? body : piecesOf(body), progress).catch((error: Error) => sent.destroy(error));
  });
  return {
    status: response.statusCode ?? 0,
    body: response,
    headers: headersOf(response),
    text: () => readText(response),
  };
};

function isStream(body: SentBody): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

function* piecesOf(body: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

async function readText(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

function timeoutError(what: string, ms: number): Error {
  return Object.assign(new Error(`${what} within ${ms / 1000} s`), { code: "ETIMEDOUT" });
}
