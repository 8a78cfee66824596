import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import type { FormLimits, ReceivedForm } from "@appdb/engine/ports";
import { afterAll, expect, test } from "vitest";
import { createFormReader } from "./read-form.ts";

const BOUNDARY = "----a-boundary";
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const LIMITS: FormLimits = { field_bytes: 1_000, file_bytes: 300_000, files: ["picture", "film"] };

const folder = mkdtempSync(join(tmpdir(), "appdb-form-"));
const reader = createFormReader(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Part = readonly [head: string, content: string | Buffer];
const field = (name: string, value: string): Part => [`name="${name}"`, value];
const file = (name: string, fileName: string, content: string | Buffer): Part => [
  `name="${name}"; filename="${fileName}"`,
  content,
];

function bodyOf(...parts: Part[]): Buffer {
  const pieces = parts.flatMap(([head, content]) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(content as string),
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

function* inPieces(body: Buffer, size: number): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

async function* eachOf<T>(pieces: Iterable<T>): AsyncGenerator<T> {
  yield* pieces;
}

const receive = (body: Buffer, limits: FormLimits = LIMITS, size = 1_000): Promise<ReceivedForm> =>
  reader.read(eachOf(inPieces(body, size)), TYPE, limits);

async function refusal(work: Promise<ReceivedForm>): Promise<AppError> {
  const error = await work.then(
    async (form) => {
      await form[Symbol.asyncDispose]();
      throw new Error("The form was received.");
    },
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

test.each([1, 7, 1_000, 1_000_000])("fields and files arrive whole in pieces of %i bytes", async (size) => {
  const content = randomBytes(50_000);
  const body = bodyOf(field("title", "Grüße 👋"), file("picture", "a b.png", content), field("note", ""));
  await using form = await receive(body.subarray(0), LIMITS, Math.max(size, 1));
  expect(form.fields).toEqual([
    ["title", "Grüße 👋"],
    ["note", ""],
  ]);
  const [received] = form.files;
  expect(received).toMatchObject({
    field: "picture",
    name: "a b.png",
    bytes: 50_000,
    sha256: createHash("sha256").update(content).digest("hex"),
  });
  expect(readFileSync((await received?.path()) ?? "").equals(content)).toBe(true);
});

const CARRIAGE_RETURN = 13;

test.each([100_000, 280_000])("frees the pieces of a body whose file has %i bytes", async (size) => {
  // A piece that ends as the line before a boundary begins is held until the next one, and both are left to the collector.
  const content = Buffer.from(randomBytes(size).map((byte) => (byte === CARRIAGE_RETURN ? 0 : byte)));
  const body = bodyOf(file("film", "a.mp4", content), file("picture", "b.png", content.subarray(0, 9_000)));
  const pieces = [...inPieces(body, 20_000)].map((piece) => new Uint8Array(piece));
  await using form = await reader.read(eachOf(pieces), TYPE, LIMITS);
  expect(pieces.slice(1, -2).map(({ length }) => length)).toEqual(pieces.slice(1, -2).map(() => 0));
  const [film, picture] = ["film", "picture"].map((name) => form.files.find((one) => one.field === name));
  expect(readFileSync((await film?.path()) ?? "").equals(content)).toBe(true);
  expect(film?.head).toEqual(content.subarray(0, film?.head.length));
  expect(readFileSync((await picture?.path()) ?? "").equals(content.subarray(0, 9_000))).toBe(true);
});

test("a small file is held in memory, a large one and those beyond the form's memory are on the disk", async () => {
  await using small = await receive(bodyOf(file("picture", "a.png", randomBytes(100_000))));
  expect(small.files[0]?.content).toHaveLength(100_000);
  expect(readdirSync(folder)).toEqual([]);
  const contents = [100_000, 90_000].map((size) => randomBytes(size));
  await using two = await receive(
    bodyOf(...["picture", "film"].map((name, at) => file(name, "a", contents[at] ?? Buffer.alloc(0)))),
  );
  expect(two.files.map(({ content }) => content?.length)).toEqual([100_000, undefined]);
  const stored = await Promise.all(two.files.map(async (one) => readFileSync(await one.path())));
  expect(stored.map((bytes, at) => bytes.equals(contents[at] ?? Buffer.alloc(0)))).toEqual([true, true]);
});

test.each([100, 65_536, 1_000_000])("a file of several writes arrives whole in pieces of %i bytes", async (size) => {
  const content = randomBytes(900_001);
  const limits = { ...LIMITS, file_bytes: 1_000_000 };
  await using form = await receive(bodyOf(file("film", "a.mp4", content)), limits, size);
  const [film] = form.files;
  expect(film).toMatchObject({
    bytes: 900_001,
    content: undefined,
    sha256: createHash("sha256").update(content).digest("hex"),
    head: content.subarray(0, 4_096),
  });
  expect(readFileSync((await film?.path()) ?? "").equals(content)).toBe(true);
});

test("disposing a form removes its files", async () => {
  const form = await receive(bodyOf(file("picture", "a.png", "x"), file("film", "b.mp4", "y")));
  await Promise.all(form.files.map((one) => one.path()));
  expect(readdirSync(folder)).toHaveLength(2);
  await form[Symbol.asyncDispose]();
  expect(readdirSync(folder)).toEqual([]);
});

test("names keep their letters and lose folders and characters that cannot be printed", async () => {
  await using form = await receive(
    bodyOf(file("picture", "../../etc/写真.png", "x"), file("film", "C:\\films\\\u0001b\u009b\u202e.mp4", "y")),
  );
  expect(form.files.map(({ name }) => name).sort()).toEqual(["b.mp4", "写真.png"]);
});

test("half of a character in a name, which no address can hold, is replaced", async () => {
  const head = `name="picture"; filename*=utf-16le''%00%d8.%00t%00`;
  await using form = await receive(bodyOf([head, "x"]));
  expect(form.files.map(({ name }) => name)).toEqual(["\ufffd.t"]);
});

test("an empty part of a browser's file input counts as absent, an empty file with a name does not", async () => {
  await using form = await receive(bodyOf(file("picture", "", ""), file("film", "empty.mp4", "")));
  expect(form.files).toMatchObject([{ field: "film", bytes: 0 }]);
});

test.each([
  ["a file for another field", bodyOf(file("title", "a.png", "x")), "invalid_request"],
  ["fields above the limit", bodyOf(field("title", "x".repeat(1_001))), "payload_too_large"],
  [
    "files above the limit together",
    bodyOf(...["picture", "film"].map((name) => file(name, "a", "x".repeat(200_000)))),
    "media_too_large",
  ],
  ["a body without an end", bodyOf(file("picture", "a.png", "x".repeat(5_000))).subarray(0, 3_000), "invalid_form"],
  ["a body of other content", Buffer.from("no form at all"), "invalid_form"],
  ["an empty body", Buffer.alloc(0), "invalid_form"],
] as const)("%s is refused and leaves no file", async (_what, body, code) => {
  const error = await refusal(receive(body));
  expect(error.code).toBe(code);
  expect(error.hint).not.toBe("");
  expect(readdirSync(folder)).toEqual([]);
});

test("a failure of the disk is the reason, and not a form that was cut", async () => {
  const gone = mkdtempSync(join(tmpdir(), "appdb-form-"));
  const broken = createFormReader(gone);
  rmSync(gone, { recursive: true });
  const body = bodyOf(file("picture", "a.png", "x".repeat(250_000)));
  await expect(broken.read(eachOf(inPieces(body, 1_000)), TYPE, LIMITS)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a content type without a boundary is refused", async () => {
  const error = await refusal(reader.read(eachOf(inPieces(bodyOf(), 10)), "multipart/form-data", LIMITS));
  expect(error.code).toBe("invalid_form");
});

test("more parts than a form may have are refused", async () => {
  const parts = Array.from({ length: 2_100 }, () => field("a", ""));
  const error = await refusal(receive(bodyOf(...parts), { ...LIMITS, field_bytes: 1_000_000 }));
  expect(error).toMatchObject({ code: "invalid_form", message: expect.stringContaining("2000 parts") });
});

test("a body that breaks off ends the form with the reason, and leaves no file", async () => {
  const gone = new Error("the client went away");
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield bodyOf(file("picture", "a.png", "x".repeat(5_000))).subarray(0, 3_000);
    throw gone;
  }
  await expect(reader.read(broken(), TYPE, LIMITS)).rejects.toBe(gone);
  expect(readdirSync(folder)).toEqual([]);
});

test.each([1, 1_000])("a field that is not UTF-8 is refused by its name, in pieces of %i bytes", async (size) => {
  for (const bytes of ["ff", "e9", "c3", "eda080", "c0af"]) {
    const body = bodyOf(field("title", "é \ufffd"), ['name="note"', Buffer.from(`61${bytes}`, "hex")]);
    const error = await refusal(receive(body, LIMITS, size));
    expect(error).toMatchObject({ code: "invalid_form", errors: [{ pointer: "/note" }] });
    expect(error.message).toBe('The field "note" of the form is not UTF-8.');
  }
  const typed = bodyOf(['name="title"\r\nContent-Type: text/plain; charset=utf-8', "\ufeffé \ufffd"]);
  await using form = await receive(typed, LIMITS, size);
  expect(form.fields).toEqual([["title", "\ufeffé \ufffd"]]);
});

test("names the field that a misspelt file is for, and the variable of the limit", async () => {
  const misspelt = await refusal(receive(bodyOf(file("pictre", "a.png", "x"))));
  expect(misspelt.hint).toBe('Did you mean "picture"? The route takes files for: picture, film.');
  const large = await refusal(receive(bodyOf(file("picture", "a.png", Buffer.alloc(400_000)))));
  expect(large).toMatchObject({ code: "media_too_large", hint: expect.stringContaining("(SERVICE_UPLOAD_BYTES)") });
});
