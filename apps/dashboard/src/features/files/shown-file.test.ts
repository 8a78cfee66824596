import { parseExact } from "@appdb/contract/clients/exact-json";
import { expect, test } from "vitest";
import { fileFacts, fileKind, fileName, filesInAnswer, isPlayable, readFileCell } from "./shown-file.ts";

const ADDRESS = "/v1/orgs/acme/databases/main/file?token=t";
const CELL = `{"address":"${ADDRESS}","type":"image/png","bytes":12288,"width":640,"height":480,"mode":"RGB","name":"a.png"}`;

test.each([
  ["Image", "image"],
  ["Image[(32, 32)] | None", "image"],
  ["Video | None", "video"],
  ["Audio", "audio"],
  ["Document", "document"],
  ["Images", undefined],
  ["String", undefined],
  ["constructor", undefined],
])("a column of type %s holds %s", (type, kind) => {
  expect(fileKind(type)).toBe(kind);
});

test("a listed cell says what is known of its file", () => {
  const file = readFileCell(parseExact(CELL), "image");
  expect(file).toEqual({
    kind: "image",
    address: ADDRESS,
    type: "image/png",
    bytes: 12288,
    width: 640,
    height: 480,
    mode: "RGB",
    name: "a.png",
  });
  expect(file && [fileName(file), fileFacts(file)]).toEqual(["a.png", "640x480 RGB, image/png, 12 KiB"]);
});

test("an inserted cell is an address, and other values have no file", () => {
  const file = readFileCell(ADDRESS, "video");
  expect(file).toEqual({ kind: "video", address: ADDRESS });
  expect(file && [fileName(file), fileFacts(file)]).toEqual(["video", ""]);
  const elsewhere = readFileCell("https://example.com/cat.png", "image");
  expect(elsewhere && [fileName(elsewhere), isPlayable(elsewhere)]).toEqual(["cat.png", false]);
  for (const value of ["null", "7", "[]", '{"url":"https://a/b.png"}']) {
    expect(readFileCell(parseExact(value), "image")).toBeUndefined();
  }
});

test("a file elsewhere is named by its own address", () => {
  const file = readFileCell(parseExact(`{"address":"${ADDRESS}","url":"https://example.com/%C3%A4.png?x=1"}`), "image");
  expect(file && fileName(file)).toBe("ä.png");
});

test.each([
  ["image", "image/jpeg", true],
  ["image", undefined, true],
  ["image", "image/svg+xml", false],
  ["image", "text/html", false],
  ["document", "application/pdf", false],
  ["document", "image/png", false],
  ["audio", "video/mp4", true],
] as const)("an element shows the %s of type %s: %s", (kind, type, isShown) => {
  expect(isPlayable({ kind, type, address: ADDRESS })).toBe(isShown);
});

test("a response's addresses of the service are found once, others are not", () => {
  const at = "http://127.0.0.1:1/photos";
  const answer = parseExact(
    JSON.stringify({
      rows: [{ a: `${at}/_media/t/cat.png` }, { a: `${at}/_media/t/cat.png`, b: `${at}/_media/u/film.mp4` }],
      doc: `${at}/_media/v/report%20one.pdf`,
      other: ["https://example.com/cat.png", `see ${at}/_media/t/cat.png`, `${at}/photos`],
    }),
  );
  expect(filesInAnswer(answer, at).map(({ kind, name }) => [kind, name])).toEqual([
    ["image", "cat.png"],
    ["video", "film.mp4"],
    ["document", "report one.pdf"],
  ]);
});
