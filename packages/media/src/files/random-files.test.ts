import { randomBytes } from "node:crypto";
import { type MediaReference, printReference, readReference } from "@appdb/contract/media";
import { MEDIA_KINDS } from "@appdb/contract/types";
import { Random } from "@appdb/engine/expressions/testing/random";
import { expect, test } from "vitest";
import { printStoreAddress, readObjectAddress, readStoreAddress } from "../stores/media-address.ts";
import { AddressTokens } from "./address-tokens.ts";
import { MediaSources } from "./media-sources.ts";
import { SNIFFED_BYTES, sniffType } from "./sniff-type.ts";

const COUNT = process.env.APPDB_FAULTS === "long" ? 40_000 : 4_000;

/** Beginnings of files, whole and nearly so. */
const STARTS = [
  "\x89PNG\r\n\x1a\n",
  "\xff\xd8\xff",
  "RIFF\0\0\0\0WEBP",
  "RIFF\0\0\0\0WAVE",
  "\0\0\0\x18ftypisom",
  "\x1a\x45\xdf\xa3",
  "PK\x03\x04",
  "PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff[Content_Types].xml",
  "%PDF-1.7",
  "<!doctype html>",
  "<svg xmlns=",
  "\xef\xbb\xbftext",
  "\xff\xfb\x90\0",
  "OggS",
  "{\\rtf",
  "",
];

function randomFile(random: Random): Buffer {
  const start = Buffer.from(random.pick(STARTS), "latin1");
  const rest = Buffer.from(Array.from({ length: random.int(0, 80) }, () => random.int(0, 255)));
  const file = Buffer.concat([
    start.subarray(0, random.int(0, start.length)),
    random.next() < 0.5 ? rest : start,
    rest,
  ]);
  if (file.length > 0 && random.next() < 0.3) file[random.int(0, file.length - 1)] = random.int(0, 255);
  return file;
}

test(`${COUNT} random files have a known type or none, whatever they are called`, () => {
  const random = new Random(20261126);
  let known = 0;
  for (let left = COUNT; left > 0; left -= 1) {
    const file = randomFile(random);
    const name = random.pick(["a.png", "a.docx", "", "é", "a.md", `a.${"x".repeat(300)}`, "../../a.html", "__proto__"]);
    const found = sniffType(file, name);
    expect(sniffType(Buffer.from(file), name)).toEqual(found);
    if (found === undefined) continue;
    known += 1;
    expect(MEDIA_KINDS).toContain(found.kind);
    expect(found.type).toMatch(/^[a-z]+\/[a-z0-9.+-]+$/);
    // it becomes a part of a key
    expect(found.extension).toMatch(/^[a-z0-9]{1,8}$/);
  }
  expect(known).toBeGreaterThan(COUNT / 10);
}, 120_000);

test("each beginning of a file of each type is read without an error", () => {
  for (const start of STARTS) {
    const file = Buffer.concat([Buffer.from(start, "latin1"), Buffer.alloc(SNIFFED_BYTES)]).subarray(0, SNIFFED_BYTES);
    for (let length = 0; length < 64; length += 1) expect(() => sniffType(file.subarray(0, length), "a")).not.toThrow();
    expect(() => sniffType(file, "a")).not.toThrow();
  }
});

const PARTS = [
  ..."s3:// gs:// wasbs:// file:/// mediafs:// bucket given a b .. . / // %2e %2f ? # @ : \\ é k=v -x .x x.png".split(
    " ",
  ),
  "pictures@acme.blob.core.windows.net",
  "acme:main/home",
  " ",
  "\0",
];

function randomAddress(random: Random): string {
  const start = random.pick([
    "s3://given",
    "s3://given/in",
    "gs://open/x",
    "s3://",
    "wasbs://pictures@acme.blob.core.windows.net",
    "",
  ]);
  const parts = Array.from({ length: random.int(0, 6) }, () => random.pick(PARTS));
  return start + random.pick(["/", ""]) + parts.join(random.pick(["/", ""]));
}

test(`${COUNT} random addresses are read as what they print, and only within known stores`, () => {
  const random = new Random(5);
  const sources = new MediaSources(
    ["s3://given/in", "gs://open", "wasbs://pictures@acme.blob.core.windows.net"],
    String,
  );
  const seen = { objects: 0, found: 0, refused: 0 };
  for (let left = COUNT; left > 0; left -= 1) {
    const address = randomAddress(random);
    const store = readStoreAddress(address);
    // Folders of this machine are named by operators alone, and have many spellings.
    if (store !== undefined && store.kind !== "file") expect(readStoreAddress(printStoreAddress(store))).toEqual(store);
    const object = readObjectAddress(address);
    if (object === undefined) {
      expect(() => sources.find(address)).toThrow(expect.objectContaining({ code: "invalid_request" }));
      continue;
    }
    seen.objects += 1;
    const printed = `${printStoreAddress(object.store)}/${object.key}`;
    expect(readObjectAddress(printed)).toEqual(object);
    // one spelling, so that comparing the text compares the object
    expect(printed).toBe(address);
    const parts = address.split("/");
    expect(parts.slice(2).some((part) => part === "" || part === "." || part === "..")).toBe(false);
    const host = parts.slice(0, 3).join("/");
    const isKnown =
      (host === "s3://given" && parts[3] === "in" && parts.length > 4) ||
      host === "gs://open" ||
      host === "wasbs://pictures@acme.blob.core.windows.net";
    if (isKnown) {
      const { store: name, key } = sources.find(address);
      expect(`${name}/${key}`).toBe(address);
      seen.found += 1;
    } else {
      expect(() => sources.find(address)).toThrow(expect.objectContaining({ code: "media_source_not_allowed" }));
      seen.refused += 1;
    }
  }
  expect(Math.min(seen.objects, seen.found, seen.refused)).toBeGreaterThan(COUNT / 100);
}, 120_000);

const MARKS = ["\u0001", "\u0002", "\0", '"', "\\", "\n", "\u2028", "é", "👋", "\ud800", "a", "}", "{", ","];
const randomText = (random: Random): string =>
  Array.from({ length: random.int(0, 12) }, () => random.pick(MARKS)).join("");

function randomReference(random: Random): MediaReference {
  const place =
    random.next() < 0.5
      ? { url: `s3://given/${randomText(random)}` }
      : { store: "home", key: `ab/${randomText(random)}` };
  return {
    ...place,
    ...(random.next() < 0.5 ? { type: "image/png", bytes: random.int(0, 1e9), width: random.int(1, 9_000) } : {}),
    ...(random.next() < 0.5 ? { name: randomText(random) } : {}),
  };
}

/** As cells hold it: without halves of characters. */
function wellFormed(reference: MediaReference): MediaReference {
  const members = Object.entries(reference).map(([name, value]) => [
    name,
    typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd") : value,
  ]);
  return Object.fromEntries(members) as MediaReference;
}

test(`${COUNT} random references are read as they were printed, in one form without control characters`, () => {
  const random = new Random(13);
  for (let left = COUNT; left > 0; left -= 1) {
    const reference = randomReference(random);
    const cell = printReference(reference);
    expect(readReference(cell)).toEqual(wellFormed(reference));
    expect(printReference(readReference(cell))).toBe(cell);
    expect(printReference(Object.fromEntries(Object.entries(reference).reverse()))).toBe(cell);
    expect([...cell].some((mark) => mark < " ")).toBe(false);
  }
}, 120_000);

test(`${COUNT / 10} random tokens name their file, and no changed one does`, () => {
  const random = new Random(17);
  const tokens = new AddressTokens(Buffer.alloc(32, 1), 3_600, () => 1_000_000_000);
  const other = new AddressTokens(randomBytes(32), 3_600, () => 1_000_000_000);
  for (let left = COUNT / 10; left > 0; left -= 1) {
    const reference = randomReference(random);
    const token = tokens.make(reference);
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
    const { url, store, key, type, name } = reference;
    // a token is text in UTF-8, which has no lone surrogates
    if (token.length < 8_000) expect(tokens.read(token)).toBe(printReference({ url, store, key, type, name }));
    expect(() => other.read(token)).toThrow(expect.objectContaining({ code: "media_address_invalid" }));
    const bytes = Buffer.from(token, "base64url");
    const at = random.int(0, bytes.length - 1);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(0, 7));
    for (const forged of [bytes, bytes.subarray(0, at), Buffer.concat([bytes, Buffer.from([0])])]) {
      expect(() => tokens.read(forged.toString("base64url"))).toThrow(
        expect.objectContaining({ code: "media_address_invalid" }),
      );
    }
    expect(() => tokens.read(randomText(random))).toThrow(expect.objectContaining({ code: "media_address_invalid" }));
  }
}, 120_000);
