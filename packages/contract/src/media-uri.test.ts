import { expect, test } from "vitest";
import { AppError } from "./errors.ts";
import { checkMediaName, isObjectKey, parseMediaUri } from "./media-uri.ts";

function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "accepted";
}

test("an address names a hosted or a local database and a place in its store", () => {
  expect(parseMediaUri("mediafs://acme:main/home/pictures/holiday.jpg")).toMatchObject({
    database: { organization: "acme", database: "main" },
    name: "pictures/holiday.jpg",
    is_folder: false,
    store: "mediafs://acme:main/home",
  });
  expect(parseMediaUri("mediafs://main/home/pictures/")).toMatchObject({
    database: { kind: "local", database: "main" },
    name: "pictures",
    is_folder: true,
    store: "mediafs://main/home",
  });
  for (const whole of ["mediafs://acme:main/home", "mediafs://acme:main/home/"]) {
    expect(parseMediaUri(whole)).toMatchObject({ name: "", is_folder: true });
  }
});

test.each([
  ["mediafs://acme:main", "expected mediafs://<organization>:<database>/home"],
  ["mediafs://acme:main/house/a", "expected mediafs://<organization>:<database>/home"],
  ["mediafs:///home", '"" is not a database'],
  ["mediafs://ACME:main/home", '"ACME:main" is not a database'],
  ["mediafs://acme:main:other/home", "is not a database"],
])("%s is refused with an example", (text, problem) => {
  const refusal = refusalOf(() => parseMediaUri(text));
  expect(refusal).toContain("invalid_target");
  expect(refusal).toContain(problem);
});

test("names may have any alphabet, and equal names are equal texts", () => {
  for (const name of [
    "a",
    "Ferien/Straße 1.jpg",
    "写真/東京.png",
    "🏖/👩‍👧.webp",
    ".hidden",
    "a..b",
    "100%.txt",
    "5f/mine.jpg",
    "24",
  ]) {
    expect(checkMediaName(name)).toBe(name.normalize("NFC"));
  }
  expect(checkMediaName("e\u0301.jpg")).toBe("\u00e9.jpg");
});

test.each([
  ["../a", "a part of it is '..'"],
  ["a/./b", "a part of it is '.'"],
  ["a//b", "a part of it is empty"],
  ["/a", "a part of it is empty"],
  ["", "a part of it is empty"],
  ["a\\b", "separate folders by '/'"],
  ["a\nb", "cannot be printed"],
  ["a\u0000", "cannot be printed"],
  ["a\u202egpj.exe", "cannot be printed"],
  ["\ud800", "cannot be printed"],
  ["é".repeat(128), "more than 255 bytes"],
  [`${"a/".repeat(16)}a`, "it has 17 parts"],
  ["a".repeat(513), "it has 513 characters"],
  [`5f/${"5f".padEnd(64, "0")}.jpg`, "names of this form are those of files of rows"],
])("the name %j is refused", (name, problem) => {
  const refusal = refusalOf(() => checkMediaName(name));
  expect(refusal).toContain("invalid_name");
  expect(refusal).toContain(problem);
});

test("the key of a stored object is its content's hash", () => {
  const hash = "5f".padEnd(64, "0");
  expect(isObjectKey(`5f/${hash}.jpg`)).toBe(true);
  expect(isObjectKey(`5f/${hash}`)).toBe(false);
  expect(isObjectKey("pictures/holiday.jpg")).toBe(false);
});
