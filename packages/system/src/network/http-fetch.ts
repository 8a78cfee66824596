import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { hostname, platform } from "node:os";
import { pipeline } from "node:stream/promises";
import type { Fetched, FetchLike } from "@appdb/contract/clients/client";
import { VERSION } from "@appdb/contract/version";

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
    const waitOn = (what: string) => {
      clearTimeout(timer);
      if (!isEnded) timer = giveUp(ANSWER_TIMEOUT_MS, what);
    };
    sent.on("socket", (socket) => {
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
      reject(error);
    });
    if (body === undefined || typeof body === "string") {
      sent.end(body);
      return;
    }
    if (isStream(body)) {
      sent.flushHeaders();
      // the reader of the answer gets the reason
      pipeline(body, sent).catch((error: Error) => sent.destroy(error));
      return;
    }
    const onPiece = (bytes: number) => {
      // uploads are timed per piece, so that a slow line is not a timeout
      waitOn("nothing was taken");
      onSent?.(bytes);
      return !isEnded;
    };
    writePieces(sent, body, onPiece).catch((error: Error) => sent.destroy(error));
  });
  return { status: response.statusCode ?? 0, body: response, text: () => readText(response) };
};

/** Whether a body is sent as it comes. */
export function isStream(body: SentBody): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

async function writePieces(sent: ClientRequest, body: Uint8Array, onPiece: (bytes: number) => boolean): Promise<void> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const isTaken = sent.write(body.subarray(at, at + PIECE_BYTES));
    if (!isTaken) await drained(sent);
    // The server answered or closed the connection early; the request's own events say which.
    if (!onPiece(Math.min(at + PIECE_BYTES, body.length)) || sent.destroyed) return;
  }
  sent.end();
}

/** Resolves when there is room again, or when the connection has closed. */
async function drained(sent: ClientRequest): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      sent.off("drain", done).off("close", done);
      resolve();
    };
    sent.on("drain", done).on("close", done);
  });
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
