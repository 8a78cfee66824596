// Byte-level HTTP/1.1 for cheap loaders: requests are prepared once, answers are counted by length.
import { connect, type Socket } from "node:net";
import type { Load } from "./load.ts";

export function connectTo(url: URL, socket: string | undefined): Socket {
  return socket === undefined ? connect(Number(url.port), url.hostname).setNoDelay(true) : connect(socket);
}

export function written(
  url: URL,
  body: string,
  { get_with: getWith, headers = {} }: Pick<Load, "get_with" | "headers">,
): Buffer {
  const lines = Object.entries(getWith ?? headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (getWith !== undefined) {
    return Buffer.from(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join("")}\r\n`);
  }
  return Buffer.from(
    `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n${lines.join("")}\r\n${body}`,
  );
}

export function answerLength(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head));
  if (length === null) throw new Error("an answer without a content-length cannot be counted");
  return head + 4 + Number(length[1]);
}
