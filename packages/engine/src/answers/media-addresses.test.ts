import { REFERENCE_END, REFERENCE_START } from "@appdb/contract/media";
import { expect, test } from "vitest";
import { JSON_HEADERS } from "./answers.ts";
import { answerWithAddresses, references, withAddresses, withPlainAddresses } from "./media-addresses.ts";

const CELL = '{"store":"home","key":"aa/x.png"}';
const MARKED = REFERENCE_START + CELL + REFERENCE_END;
const addressOf = (cell: string): string => `http://host/${(JSON.parse(cell) as { key: string }).key}"é`;

test("each reference becomes the JSON text of its address", () => {
  const text = `{"a":${MARKED},"b":[1,${MARKED}]}`;
  expect(JSON.parse(withAddresses(text, addressOf))).toEqual({
    a: 'http://host/aa/x.png"é',
    b: [1, 'http://host/aa/x.png"é'],
  });
  expect(references(text)).toEqual([CELL, CELL]);
});

test("a text without references stays the same", () => {
  expect(withAddresses('{"a":"\\u0001"}', addressOf)).toBe('{"a":"\\u0001"}');
});

test("a value of a computed column has the store and the key", () => {
  expect(withPlainAddresses(`[${MARKED}]`)).toBe('["home/aa/x.png"]');
});

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([1, 2, 3, 10, 1_000])("references are found across pieces of %i bytes", async (size) => {
  const text = `{"é":${MARKED}}\n{"é":${MARKED}}\nüü`;
  const { body } = answerWithAddresses({ status: 200, headers: JSON_HEADERS, body: inPieces(text, size) }, addressOf);
  const pieces: Buffer[] = [];
  for await (const piece of body as AsyncIterable<Uint8Array | string>) pieces.push(Buffer.from(piece as Uint8Array));
  expect(Buffer.concat(pieces).toString()).toBe(withAddresses(text, addressOf));
});

test("a stream of rewritten pieces has no length of its own, and closes its source unread", async () => {
  let isClosed = false;
  const source: AsyncIterableIterator<Uint8Array> = {
    next: async () => ({ done: true, value: undefined }),
    async return() {
      isClosed = true;
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => source,
  };
  const headers = { ...JSON_HEADERS, "content-length": "100" };
  const answer = answerWithAddresses({ status: 200, headers, body: source }, addressOf);
  expect(answer.headers).toEqual(JSON_HEADERS);
  const body = answer.body as AsyncIterable<Uint8Array | string>;
  await body[Symbol.asyncIterator]().return?.();
  expect(isClosed).toBe(true);
});

test("a buffer is rewritten, one without references is passed on", () => {
  const plain = Buffer.from('{"a":1}');
  expect(answerWithAddresses({ status: 200, headers: {}, body: plain }, addressOf).body).toBe(plain);
  const { body } = answerWithAddresses({ status: 200, headers: {}, body: Buffer.from(`[${MARKED}]`) }, addressOf);
  expect(String(body)).toBe(withAddresses(`[${MARKED}]`, addressOf));
});

test("a stream loses the length that its references had", () => {
  const headers = { ...JSON_HEADERS, "content-length": "7" };
  const answer = answerWithAddresses({ status: 200, headers, body: inPieces(MARKED, 10) }, addressOf);
  expect(answer.headers).toEqual(JSON_HEADERS);
});
