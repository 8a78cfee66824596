import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import { Random } from "@appdb/engine/expressions/testing/random";
import type { ReceivedForm } from "@appdb/engine/ports";
import { afterAll, expect, test } from "vitest";
import { createFormReader } from "./read-form.ts";

const FORMS = process.env.APPDB_FAULTS === "long" ? 5_000 : 150;
const PATIENCE_MS = 10_000;
const LIMITS = { field_bytes: 100_000, file_bytes: 100_000, files: ["f0", "f1", "f2"] };
const BOUNDARY = "b-0'()+_,./:=?";
const TYPE = `multipart/form-data; boundary="${BOUNDARY}"`;
/** What content has in common with the frame around it. */
const PIECES = ["\r\n", "--", `--${BOUNDARY}`, BOUNDARY, "\r", "\n", "\0", "é", "👋", "a", "Content-Disposition:", '"'];

const folder = mkdtempSync(join(tmpdir(), "appdb-forms-"));
const reader = createFormReader(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Part {
  readonly name: string;
  /** Undefined for a field. */
  readonly file: string | undefined;
  readonly content: Buffer;
}

function randomContent(random: Random, most: number): Buffer {
  const pieces = Array.from({ length: random.int(0, most) }, () =>
    random.next() < 0.5 ? random.pick(PIECES) : String.fromCodePoint(random.int(32, 0x2fff)),
  );
  // The frame itself cannot be content, and the line before content may be a part of it.
  let text = pieces.join("");
  while (text.includes(`--${BOUNDARY}`)) text = text.replaceAll(`--${BOUNDARY}`, "");
  return Buffer.from(text);
}

function randomForm(random: Random): Part[] {
  return Array.from({ length: random.int(0, 5) }, (_part, at) => {
    const isFile = random.next() < 0.5;
    const name = isFile ? `f${random.int(0, 2)}` : `field ${at}`;
    const size = random.pick([0, 3, 60, 3_000]);
    return { name, file: isFile ? `file ${at}.png` : undefined, content: randomContent(random, size) };
  });
}

function print(parts: readonly Part[]): Buffer {
  const printed = parts.flatMap(({ name, file, content }) => [
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? "" : `; filename="${file}"`}\r\n\r\n`,
    ),
    content,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...printed, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

async function* inPieces(body: Buffer, sizeOf: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; ) {
    const size = sizeOf();
    yield body.subarray(at, at + size);
    at += size;
  }
}

/** Reads a form, or gives the error that refuses it. A form that is not read in time fails the test. */
async function receive(body: Buffer, sizeOf: () => number): Promise<ReceivedForm | AppError> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("The form was not read in time.")), PATIENCE_MS);
  });
  try {
    return await Promise.race([reader.read(inPieces(body, sizeOf), TYPE, LIMITS), late]);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function shown({ fields, files }: ReceivedForm) {
  const read = files.map(async ({ field, name, path, sha256 }) => ({
    field,
    name,
    sha256,
    content: readFileSync(await path()).toString("hex"),
  }));
  return { fields, files: (await Promise.all(read)).sort((one, other) => (one.name < other.name ? -1 : 1)) };
}

function expected(parts: readonly Part[]) {
  return {
    fields: parts.filter(({ file }) => file === undefined).map(({ name, content }) => [name, content.toString()]),
    files: parts.flatMap(({ name, file, content }) =>
      file === undefined
        ? []
        : [
            {
              field: name,
              name: file,
              sha256: createHash("sha256").update(content).digest("hex"),
              content: content.toString("hex"),
            },
          ],
    ),
  };
}

test(`${FORMS} random forms arrive whole, however they are split`, async () => {
  const random = new Random(20261126);
  for (let left = FORMS; left > 0; left -= 1) {
    const parts = randomForm(random);
    const most = random.pick([1, 2, 7, 70, 5_000]);
    const form = await receive(print(parts), () => random.int(1, most));
    if (form instanceof AppError) throw form;
    expect(await shown(form), `form ${left}`).toEqual(expected(parts));
    await form[Symbol.asyncDispose]();
    expect(readdirSync(folder)).toEqual([]);
  }
}, 300_000);

test.each([
  ["a field without a name", 'filenam="a"', "invalid_form"],
  ["a field with an empty name", 'name=""', "invalid_form"],
  ["a file without a name of its field", 'filename="a.png"', "invalid_form"],
  ["a file for a field that takes none", 'name="other"; filename="a.png"', "invalid_request"],
])("%s is refused, whole or cut", async (_what, head, code) => {
  const body = Buffer.from(
    `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\ncontent\r\n--${BOUNDARY}--\r\n`,
  );
  for (const cut of [body, body.subarray(0, -30), body.subarray(0, body.indexOf("tent"))]) {
    const form = await receive(cut, () => 7);
    expect(form).toMatchObject({ code: expect.stringMatching(cut === body ? code : /^invalid_/) });
    expect(readdirSync(folder)).toEqual([]);
  }
});

test("a form that is cut anywhere is refused, and leaves no file", async () => {
  const random = new Random(7);
  const parts = [
    { name: "title", file: undefined, content: Buffer.from("a\r\n--b") },
    { name: "f0", file: "a.png", content: Buffer.from(`x\r\n--${BOUNDARY.slice(0, 5)}y`) },
    { name: "f1", file: "b.png", content: Buffer.alloc(0) },
  ];
  const body = print(parts);
  const end = body.length - "--\r\n".length;
  for (let length = 0; length < body.length; length += 1) {
    const form = await receive(body.subarray(0, length), () => random.int(1, 40));
    if (form instanceof AppError) expect(["invalid_form", "invalid_request"]).toContain(form.code);
    else {
      // Only the mark of the end may be incomplete.
      expect(length, `cut to ${length} of ${body.length} bytes`).toBeGreaterThan(end);
      expect(await shown(form)).toEqual(expected(parts));
      await form[Symbol.asyncDispose]();
    }
    expect(readdirSync(folder), `cut to ${length}`).toEqual([]);
  }
}, 120_000);

test(`${FORMS} damaged forms are read or refused, and leave no file`, async () => {
  const random = new Random(11);
  let refused = 0;
  for (let left = FORMS; left > 0; left -= 1) {
    const body = print(randomForm(random));
    for (let change = random.int(1, 6); change > 0; change -= 1)
      body[random.int(0, body.length - 1)] = random.int(0, 255);
    const form = await receive(body, () => random.int(1, 500));
    if (form instanceof AppError) refused += 1;
    else await form[Symbol.asyncDispose]();
    expect(readdirSync(folder), `form ${left}`).toEqual([]);
  }
  expect(refused).toBeGreaterThan(FORMS / 10);
}, 300_000);
