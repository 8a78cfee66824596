import { expect, test } from "vitest";
import { sniffType, whyUnknown } from "./sniff-type.ts";

const ftyp = (brand: string) => `\0\0\0\x18ftyp${brand}`;
const OFFICE = "application/vnd.openxmlformats-officedocument.";
/** The first bytes of an archive with these entries. */
const zip = (...names: string[]) =>
  names
    .map((name) => `PK\x03\x04${"\0".repeat(22)}${String.fromCharCode(name.length)}${"\0".repeat(3)}${name}data`)
    .join("");
const latin = (text: string) => Buffer.from(text, "latin1");

test.each([
  ["\xff\xd8\xff\xe0", "a.png", "image/jpeg"],
  ["\x89PNG\r\n\x1a\n\0\0", "a.pdf", "image/png"],
  ["GIF89a", "a", "image/gif"],
  ["RIFF\0\0\0\0WEBPVP8 ", "a", "image/webp"],
  ["RIFF\0\0\0\0WAVEfmt ", "a", "audio/wav"],
  ["RIFF\0\0\0\0AVI LIST", "a", "video/x-msvideo"],
  [ftyp("isom"), "a.mov", "video/mp4"],
  [ftyp("qt  "), "a", "video/quicktime"],
  [ftyp("M4A "), "a", "audio/mp4"],
  [ftyp("avif"), "a", "image/avif"],
  [ftyp("heic"), "a", "image/heic"],
  ["\x1a\x45\xdf\xa3\x93\x42\x82\x88webm", "a", "video/webm"],
  ["\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska", "a", "video/x-matroska"],
  ["ID3\x04", "a", "audio/mpeg"],
  ["\xff\xfb\x90\x64", "a", "audio/mpeg"],
  ["\xff\xf1\x50\x80", "a", "audio/aac"],
  ["fLaC", "a", "audio/flac"],
  ["OggS\0\x02", "a", "audio/ogg"],
  ["%PDF-1.7", "a.txt", "application/pdf"],
  [zip("[Content_Types].xml", "word/document.xml"), "a", `${OFFICE}wordprocessingml.document`],
  [zip("xl/worksheets/sheet1.xml"), "a.docx", `${OFFICE}spreadsheetml.sheet`],
  [zip("_rels/.rels", "docProps/app.xml", "ppt/presentation.xml"), "a.zip", `${OFFICE}presentationml.presentation`],
  [zip("[Content_Types].xml"), "a.pptx", `${OFFICE}presentationml.presentation`],
  ["<!DOCTYPE html><p>", "a.txt", "text/html"],
  ["  <html>", "a", "text/html"],
  ["<?xml version='1.0'?>\n<!-- a -->\n<svg xmlns=''>", "a.png", "image/svg+xml"],
  ["<?xml version='1.0'?><a/>", "a", "application/xml"],
  ["# Title", "a.md", "text/markdown"],
  ["a,b\n1,2", "a.CSV", "text/csv"],
  ["plain", "a.exe", "text/plain"],
])("%j called %s is %s", (head, name, type) => {
  expect(sniffType(latin(head), name)?.type).toBe(type);
});

test.each([
  ["", "it is empty"],
  [zip("other/file"), "it is an archive, and not DOCX, PPTX or XLSX"],
  ["PK\x05\x06", "it is an archive, and not DOCX, PPTX or XLSX"],
  ["\xff\xfea\0b\0", "text must be UTF-8"],
  ["\xfe\xff\0a\0b", "text must be UTF-8"],
  ["<html><meta charset=iso-8859-1>Stra\xdfe in M\xfcnchen", "text must be UTF-8"],
  ["\x7fELF\x02", "its type is not known"],
])("%j is not known: %s", (head, reason) => {
  expect(sniffType(latin(head), "a.txt")).toBeUndefined();
  expect(whyUnknown(latin(head))).toBe(reason);
});

test.each([
  "",
  "\0\x01\x02\x03",
  "PK\x03\x04",
  zip("other/file"),
  zip("mimetype", "word/document.xml"),
  zip("word/notes.txt"),
  zip("[Content_Types].xml", "other.xml"),
  "\x7fELF\x02",
])("%j is not a known type", (head) => {
  expect(sniffType(latin(head), "a.png")).toBeUndefined();
});

test("text of any alphabet is text, also where the piece cuts a character", () => {
  const bytes = Buffer.from("日本語".repeat(2_000));
  expect(sniffType(bytes.subarray(0, 4_096), "a.txt")?.type).toBe("text/plain");
  expect(sniffType(Buffer.from("\ufeff<html>"), "a")?.type).toBe("text/html");
});

test("comments before an SVG are read in linear time", () => {
  const comments = (count: number, end: string) => sniffType(Buffer.from("<!---->".repeat(count) + end), "a.txt")?.type;
  expect(comments(20, "<svg>")).toBe("image/svg+xml");
  // exponential time would never end
  expect(comments(500, "x")).toBe("text/plain");
  expect(sniffType(Buffer.from("<!-- never closed <svg>"), "a.txt")?.type).toBe("text/plain");
});
