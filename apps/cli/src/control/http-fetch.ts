import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { hostname, platform } from "node:os";
import type { FetchLike } from "@appdb/contract/clients/client";
import { VERSION } from "@appdb/contract/version";

/** A server that is there answers the first knock within milliseconds; one behind a firewall that drops it never would. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Longer than any answer that waits for something (`?wait_ms=30000`). */
const ANSWER_TIMEOUT_MS = 60_000;
const PIECE_BYTES = 256 * 1024;

/** What the page that confirms a sign-in shows, and the list of one's sessions. */
const USER_AGENT = `cli/${VERSION} (${platform()}; ${hostname().replace(/[^\x21-\x7e]/g, "?")})`;

/** `fetch` over node:http and node:https: loading the global one costs a command 15 ms more. */
export const httpFetch: FetchLike = async (url, { method, headers, body, onSent, signal }) => {
  const { request } = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  const options: RequestOptions = {
    method,
    headers: {
      "user-agent": USER_AGENT,
      ...headers,
      ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    },
    // A few calls: a kept connection would only keep the command from ending.
    agent: false,
    ...(signal === undefined ? {} : { signal }),
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, options);
    const giveUp = (ms: number, what: string) => setTimeout(() => sent.destroy(timeoutError(what, ms)), ms);
    let timer = giveUp(CONNECT_TIMEOUT_MS, "no connection");
    let isOver = false;
    const waitOn = (what: string) => {
      clearTimeout(timer);
      if (!isOver) timer = giveUp(ANSWER_TIMEOUT_MS, what);
    };
    sent.on("socket", (socket) => {
      socket.once("connect", () => {
        waitOn("no answer");
        // A stream of events may be silent for hours; a server that vanished must not look like one.
        socket.setKeepAlive(true, 30_000);
      });
    });
    sent.on("response", (answer) => {
      isOver = true;
      clearTimeout(timer);
      resolve(answer);
    });
    sent.on("error", (error) => {
      isOver = true;
      clearTimeout(timer);
      reject(error);
    });
    if (body === undefined || typeof body === "string") {
      sent.end(body);
      return;
    }
    const onPiece = (bytes: number) => {
      // what takes long is timed by its pieces: a slow line is no dead one
      waitOn("nothing was taken");
      onSent?.(bytes);
      return !isOver;
    };
    writePieces(sent, body, onPiece).catch((error: Error) => sent.destroy(error));
  });
  return { status: response.statusCode ?? 0, body: response, text: () => readText(response) };
};

async function writePieces(sent: ClientRequest, body: Uint8Array, onPiece: (bytes: number) => boolean): Promise<void> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const isTaken = sent.write(body.subarray(at, at + PIECE_BYTES));
    if (!isTaken) await drained(sent);
    // The server has answered or hung up before the end; the request's own events say which.
    if (!onPiece(Math.min(at + PIECE_BYTES, body.length)) || sent.destroyed) return;
  }
  sent.end();
}

/** Resolves when there is room again, or nobody is left to take anything. */
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
