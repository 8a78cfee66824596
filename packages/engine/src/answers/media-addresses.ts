import { plainAddress, REFERENCE_END, REFERENCE_START } from "@appdb/contract/media";
import type { RouteAnswer } from "./answers.ts";

/** Returns the address of a cell's file. */
export type AddressOf = (cell: string) => string;

const START = REFERENCE_START.charCodeAt(0);
const END = REFERENCE_END.charCodeAt(0);

/** The text with an address in place of each marked reference. */
export function withAddresses(text: string, addressOf: AddressOf): string {
  return withReferences(text, (cell) => JSON.stringify(addressOf(cell)));
}

/** The text with the JSON of `print` in place of each marked reference. */
export function withReferences(text: string, print: (cell: string) => string): string {
  let from = text.indexOf(REFERENCE_START);
  if (from < 0) return text;
  const parts: string[] = [];
  let at = 0;
  for (; from >= 0; from = text.indexOf(REFERENCE_START, at)) {
    const to = text.indexOf(REFERENCE_END, from);
    if (to < 0) throw new TypeError("A media reference in an answer has no end.");
    parts.push(text.slice(at, from), print(text.slice(from + 1, to)));
    at = to + 1;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

/** The cells of the marked references in a text, in order. */
export function references(text: string): readonly string[] {
  return text
    .split(REFERENCE_START)
    .slice(1)
    .map((part) => part.slice(0, part.indexOf(REFERENCE_END)));
}

/** The text with each marked reference as a constant text: its own address, or its store and key. */
export function withPlainAddresses(text: string): string {
  return withAddresses(text, plainAddress);
}

/** The answer with an address in place of each marked reference. */
export function answerWithAddresses(answer: RouteAnswer, addressOf: AddressOf): RouteAnswer {
  const { body } = answer;
  if (typeof body === "string") {
    return body.includes(REFERENCE_START) ? { ...answer, body: withAddresses(body, addressOf) } : answer;
  }
  if (Buffer.isBuffer(body)) {
    return body.includes(START) ? { ...answer, body: bytesWithAddresses(body, addressOf) } : answer;
  }
  // an address has another length than its reference
  const { "content-length": _, ...headers } = answer.headers;
  return { ...answer, headers, body: rewritten(body, addressOf) };
}

/** A generator that never started would not close its source. */
function rewritten(
  pieces: AsyncIterable<Uint8Array | string>,
  addressOf: AddressOf,
): AsyncIterableIterator<Uint8Array | string> {
  const source = pieces[Symbol.asyncIterator]();
  const all = piecesWithAddresses({ [Symbol.asyncIterator]: () => source }, addressOf);
  return {
    next: () => all.next(),
    async return() {
      await source.return?.();
      return await all.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The same for bytes that may begin and end within a character: only references are decoded. */
function bytesWithAddresses(bytes: Buffer, addressOf: AddressOf): Buffer {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (let from = bytes.indexOf(START); from >= 0; from = bytes.indexOf(START, at)) {
    const to = bytes.indexOf(END, from);
    if (to < 0) throw new TypeError("A media reference in an answer has no end.");
    parts.push(bytes.subarray(at, from), Buffer.from(JSON.stringify(addressOf(bytes.toString("utf8", from + 1, to)))));
    at = to + 1;
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
}

/** A reference may be cut by the end of a piece: the rest is kept until its end arrives. */
async function* piecesWithAddresses(
  pieces: AsyncIterable<Uint8Array | string>,
  addressOf: AddressOf,
): AsyncGenerator<Uint8Array | string> {
  let kept = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (typeof piece === "string" && kept.length === 0 && !piece.includes(REFERENCE_START)) {
      yield piece;
      continue;
    }
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    const all = kept.length === 0 ? Buffer.from(bytes) : Buffer.concat([kept, bytes]);
    const cut = all.lastIndexOf(START);
    const whole = cut < 0 || all.indexOf(END, cut) >= 0 ? all.length : cut;
    kept = all.subarray(whole);
    const ready = all.subarray(0, whole);
    if (ready.length > 0) yield ready.includes(START) ? bytesWithAddresses(ready, addressOf) : ready;
  }
  if (kept.length > 0) throw new TypeError("A media reference in an answer has no end.");
}
