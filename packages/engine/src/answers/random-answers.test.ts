import { printReference, REFERENCE_END, REFERENCE_START } from "@appdb/contract/media";
import { expect, test } from "vitest";
import { Random } from "../expressions/testing/random.ts";
import { JSON_HEADERS } from "./answers.ts";
import { fileAnswer } from "./file-answer.ts";
import { answerWithAddresses, references, withAddresses } from "./media-addresses.ts";

const COUNT = process.env.APPDB_FAULTS === "long" ? 30_000 : 3_000;

const NUMBERS = [
  "",
  "0",
  "1",
  "9",
  "10",
  "11",
  "99",
  "007",
  "-1",
  "1.5",
  "1e3",
  "999999999999999",
  "9999999999999999",
  "x",
];
const UNITS = ["bytes=", "bytes=", "bytes=", "bytes=", "bytes =", "Bytes=", "bytes", "items=", "", "bytes=0-1,"];

test(`${COUNT} random ranges give a part of the file, all of it, or 416`, async () => {
  const random = new Random(20261126);
  const seen = new Map<number, number>();
  for (let left = COUNT; left > 0; left -= 1) {
    const bytes = random.pick([0, 1, 10, 11, 1_000]);
    const content = "x".repeat(bytes);
    const dash = random.pick(["-", "-", "-", "", "--"]);
    const range = `${random.pick(UNITS)}${random.pick(NUMBERS)}${dash}${random.pick(NUMBERS)}`;
    const file = {
      is_fixed: true,
      bytes,
      type: "image/png",
      name: "a.png",
      etag: '"e"',
      read: async (start: number, end: number) =>
        (async function* () {
          expect([Number.isSafeInteger(start), start >= 0, end >= start, end <= bytes], range).toEqual([
            true,
            true,
            true,
            true,
          ]);
          yield Buffer.from(content.slice(start, end));
        })(),
    };
    const { status, headers, body } = await fileAnswer(file, { method: "GET", headers: { range } }, "no-cache");
    seen.set(status, (seen.get(status) ?? 0) + 1);
    let length = 0;
    if (typeof body !== "string") for await (const piece of body as AsyncIterable<Uint8Array>) length += piece.length;
    if (status === 416) {
      expect([headers["content-range"], length], range).toEqual([`bytes */${bytes}`, 0]);
      continue;
    }
    expect(Number(headers["content-length"]), range).toBe(length);
    if (status === 200) {
      expect(length, range).toBe(bytes);
      continue;
    }
    expect(status).toBe(206);
    const [, from = "", to = "", all = ""] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers["content-range"] ?? "") ?? [];
    expect([Number(to) - Number(from) + 1, Number(all)], range).toEqual([length, bytes]);
    expect(length).toBeGreaterThan(0);
    // an independent reading of RFC 9110, 14.1.2
    const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
    const start = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
    const end = first === "" || last === "" ? bytes : Math.min(Number(last) + 1, bytes);
    expect([Number(from), Number(to) + 1], range).toEqual([start, end]);
  }
  for (const status of [200, 206, 416]) expect(seen.get(status), String(status)).toBeGreaterThan(COUNT / 50);
}, 120_000);

const MARKS = [REFERENCE_START, REFERENCE_END, '"', "\\", "\\u0001", "\n", "é", "👋", "a", "{", "}", '{"url":"x"}'];
const randomText = (random: Random): string =>
  Array.from({ length: random.int(0, 8) }, () => random.pick(MARKS)).join("");
const addressOf = (cell: string): string => `<${cell}>`;

/** JSON with texts of callers and references between them, and the JSON that must come of it. */
function randomJson(random: Random) {
  const cells: string[] = [];
  const members = Array.from({ length: random.int(0, 6) }, (_member, at) => {
    if (random.next() < 0.5) {
      const text = JSON.stringify(randomText(random));
      return [`"t${at}":${text}`, `"t${at}":${text}`];
    }
    const cell = printReference({ url: `s3://given/${randomText(random)}`, name: randomText(random) });
    cells.push(cell);
    return [`"r${at}":${REFERENCE_START}${cell}${REFERENCE_END}`, `"r${at}":${JSON.stringify(addressOf(cell))}`];
  });
  const printed = (side: 0 | 1) => `{${members.map((member) => member[side]).join(",")}}`;
  return { marked: printed(0), expected: printed(1), cells };
}

test(`${COUNT} random answers have an address for each reference, and for nothing that a caller wrote`, async () => {
  const random = new Random(3);
  let count = 0;
  for (let left = COUNT; left > 0; left -= 1) {
    const { marked, expected, cells } = randomJson(random);
    count += cells.length;
    expect(withAddresses(marked, addressOf)).toBe(expected);
    expect(references(marked)).toEqual(cells);
    const bytes = Buffer.from(marked);
    async function* pieces() {
      for (let at = 0; at < bytes.length; ) {
        const size = random.int(1, 40);
        yield bytes.subarray(at, at + size);
        at += size;
      }
    }
    for (const body of [marked, bytes, pieces()]) {
      const answer = answerWithAddresses({ status: 200, headers: JSON_HEADERS, body }, addressOf);
      expect(await textOf(answer.body)).toBe(expected);
    }
  }
  expect(count).toBeGreaterThan(COUNT / 2);
}, 120_000);

async function textOf(body: unknown): Promise<string> {
  if (typeof body === "string" || Buffer.isBuffer(body)) return body.toString();
  const pieces: Buffer[] = [];
  for await (const piece of body as AsyncIterable<Uint8Array | string>) pieces.push(Buffer.from(piece as Uint8Array));
  return Buffer.concat(pieces).toString();
}
