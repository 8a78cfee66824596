import type { IncomingMessage, RequestOptions } from "node:http";
import { hostname, platform } from "node:os";
import type { ControlFetch } from "@appdb/contract/control-client";
import { VERSION } from "@appdb/contract/version";

/** A server that is there answers the first knock within milliseconds; one behind a firewall that drops it never would. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Longer than any answer that waits for something (`?wait_ms=30000`). */
const ANSWER_TIMEOUT_MS = 60_000;

/** What the page that confirms a sign-in shows, and the list of one's sessions. */
const USER_AGENT = `cli/${VERSION} (${platform()}; ${hostname().replace(/[^\x21-\x7e]/g, "?")})`;

/** `fetch` over node:http and node:https: loading the global one costs a command 15 ms more. */
export const httpFetch: ControlFetch = async (url, { method, headers, body, signal }) => {
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
    sent.on("socket", (socket) => {
      socket.once("connect", () => {
        clearTimeout(timer);
        timer = giveUp(ANSWER_TIMEOUT_MS, "no answer");
        // A stream of events may be silent for hours; a server that vanished must not look like one.
        socket.setKeepAlive(true, 30_000);
      });
    });
    sent.on("response", (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    sent.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    sent.end(body);
  });
  return { status: response.statusCode ?? 0, body: response, text: () => readText(response) };
};

async function readText(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

function timeoutError(what: string, ms: number): Error {
  return Object.assign(new Error(`${what} within ${ms / 1000} s`), { code: "ETIMEDOUT" });
}
