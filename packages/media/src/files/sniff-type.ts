import type { MediaKind } from "@appdb/contract/types";

/** What a file is by its first bytes. */
export interface FoundType {
  /** The media type: `image/png`. */
  readonly type: string;
  /** Without a point: `png`. */
  readonly extension: string;
  readonly kind: MediaKind;
}

/** So many first bytes are enough to tell a type. */
export const SNIFFED_BYTES = 4_096;

interface Signature extends FoundType {
  readonly bytes: Buffer;
  /** Where the bytes stand. */
  readonly at: number;
}

const sign = (kind: MediaKind, type: string, extension: string, bytes: Buffer | string, at = 0): Signature => ({
  kind,
  type,
  extension,
  bytes: Buffer.from(bytes as string, "latin1"),
  at,
});

/** Facts: the formats' own specifications, and the WHATWG MIME Sniffing Standard, section 6. */
const SIGNATURES: readonly Signature[] = [
  sign("image", "image/jpeg", "jpg", "\xff\xd8\xff"),
  sign("image", "image/png", "png", "\x89PNG\r\n\x1a\n"),
  sign("image", "image/gif", "gif", "GIF87a"),
  sign("image", "image/gif", "gif", "GIF89a"),
  sign("image", "image/bmp", "bmp", "BM"),
  sign("image", "image/tiff", "tiff", "II*\0"),
  sign("image", "image/tiff", "tiff", "MM\0*"),
  sign("image", "image/vnd.microsoft.icon", "ico", "\0\0\x01\0"),
  sign("image", "image/jp2", "jp2", "\0\0\0\x0cjP  \r\n\x87\n"),
  sign("image", "image/jxl", "jxl", "\xff\x0a"),
  sign("audio", "audio/flac", "flac", "fLaC"),
  sign("audio", "audio/mpeg", "mp3", "ID3"),
  sign("audio", "audio/midi", "mid", "MThd"),
  sign("document", "application/pdf", "pdf", "%PDF-"),
  sign("document", "application/rtf", "rtf", "{\\rtf"),
  sign("document", "application/x-ole-storage", "ole", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
];

/** Kinds of the ISO base media format (ISO 14496-12), by the brand behind `ftyp`. */
const BRANDS: readonly [brand: RegExp, found: FoundType][] = [
  [/^(?:avif|avis)/, { kind: "image", type: "image/avif", extension: "avif" }],
  [/^(?:heic|heix|hevc|heim|heis|mif1|msf1)/, { kind: "image", type: "image/heic", extension: "heic" }],
  [/^(?:M4A |M4B |M4P )/, { kind: "audio", type: "audio/mp4", extension: "m4a" }],
  [/^qt {2}/, { kind: "video", type: "video/quicktime", extension: "mov" }],
  [/^3g[2p]/, { kind: "video", type: "video/3gpp", extension: "3gp" }],
  [/^/, { kind: "video", type: "video/mp4", extension: "mp4" }],
];

/** Parts of an Office Open XML file (ECMA-376) that identify it. */
const OFFICE: readonly [part: RegExp, found: FoundType][] = [
  [/^word\/.*\.(?:xml|rels)$/, office("wordprocessingml.document", "docx")],
  [/^ppt\/.*\.(?:xml|rels)$/, office("presentationml.presentation", "pptx")],
  [/^xl\/.*\.(?:xml|rels)$/, office("spreadsheetml.sheet", "xlsx")],
];
/** Folders and parts of every such file. Other archives begin with other names. */
const OFFICE_FIRST = /^(?:\[Content_Types\]\.xml$|_rels\/|docProps\/|customXml\/|word\/|ppt\/|xl\/)/;
const [ZIP_ENTRY, ZIP_NAME_LENGTH_AT, ZIP_NAME_AT] = [Buffer.from("PK\x03\x04"), 26, 30];

function office(name: string, extension: string): FoundType {
  return { kind: "document", type: `application/vnd.openxmlformats-officedocument.${name}`, extension };
}

const TEXTS: Readonly<Record<string, FoundType>> = {
  html: { kind: "document", type: "text/html", extension: "html" },
  htm: { kind: "document", type: "text/html", extension: "html" },
  xml: { kind: "document", type: "application/xml", extension: "xml" },
  svg: { kind: "image", type: "image/svg+xml", extension: "svg" },
  md: { kind: "document", type: "text/markdown", extension: "md" },
  markdown: { kind: "document", type: "text/markdown", extension: "md" },
  csv: { kind: "document", type: "text/csv", extension: "csv" },
  txt: { kind: "document", type: "text/plain", extension: "txt" },
};

/**
 * Tells what a file is by its first bytes; its name decides only between kinds of text. Undefined for content that is none
 * of the known types.
 */
export function sniffType(head: Uint8Array, name: string): FoundType | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFFED_BYTES));
  const signed = SIGNATURES.find(({ bytes: wanted, at }) => bytes.subarray(at, at + wanted.length).equals(wanted));
  if (signed !== undefined) return { kind: signed.kind, type: signed.type, extension: signed.extension };
  if (bytes.subarray(0, ZIP_ENTRY.length).equals(ZIP_ENTRY)) return sniffOffice(bytes, extensionOf(name));
  return sniffContainer(bytes) ?? sniffFrames(bytes) ?? sniffText(bytes, extensionOf(name));
}

/** Containers, whose content a name inside identifies. */
function sniffContainer(bytes: Buffer): FoundType | undefined {
  const text = bytes.toString("latin1");
  if (text.startsWith("RIFF")) {
    const form = text.slice(8, 12);
    if (form === "WEBP") return { kind: "image", type: "image/webp", extension: "webp" };
    if (form === "WAVE") return { kind: "audio", type: "audio/wav", extension: "wav" };
    if (form === "AVI ") return { kind: "video", type: "video/x-msvideo", extension: "avi" };
  }
  if (text.startsWith("FORM") && /^AIF[FC]/.test(text.slice(8)))
    return { kind: "audio", type: "audio/aiff", extension: "aiff" };
  if (text.slice(4, 8) === "ftyp") return BRANDS.find(([brand]) => brand.test(text.slice(8)))?.[1];
  if (text.startsWith("\x1a\x45\xdf\xa3")) {
    return text.includes("webm")
      ? { kind: "video", type: "video/webm", extension: "webm" }
      : { kind: "video", type: "video/x-matroska", extension: "mkv" };
  }
  if (text.startsWith("OggS")) {
    return text.includes("theora")
      ? { kind: "video", type: "video/ogg", extension: "ogv" }
      : { kind: "audio", type: "audio/ogg", extension: "ogg" };
  }
  return undefined;
}

/**
 * Office files are archives. Without a telling part among the first bytes, the extension says which one it is: the worker
 * checks that when it opens the file.
 */
function sniffOffice(bytes: Buffer, extension: string): FoundType | undefined {
  const names = zipNames(bytes);
  if (!OFFICE_FIRST.test(names[0] ?? "")) return undefined;
  for (const [part, found] of OFFICE) if (names.some((name) => part.test(name))) return found;
  return names[0] === "[Content_Types].xml"
    ? OFFICE.find(([, found]) => found.extension === extension)?.[1]
    : undefined;
}

/** The names of the archive's entries that stand in the piece. */
function zipNames(bytes: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at >= 0 && at + ZIP_NAME_AT <= bytes.length; at = bytes.indexOf(ZIP_ENTRY, at + 1)) {
    const end = at + ZIP_NAME_AT + bytes.readUInt16LE(at + ZIP_NAME_LENGTH_AT);
    if (end <= bytes.length) names.push(bytes.toString("utf8", at + ZIP_NAME_AT, end));
  }
  return names;
}

/** Streams without a head: frames of MPEG audio, packets of a transport stream, FLV. */
function sniffFrames(bytes: Buffer): FoundType | undefined {
  const [first = 0, second = 0] = bytes;
  // the mark of UTF-16
  if (first === 0xff && second === 0xfe) return undefined;
  if (first === 0xff && (second & 0xf6) === 0xf0) return { kind: "audio", type: "audio/aac", extension: "aac" };
  if (first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x06) !== 0) {
    return { kind: "audio", type: "audio/mpeg", extension: "mp3" };
  }
  if (first === 0x47 && bytes[188] === 0x47) return { kind: "video", type: "video/mp2t", extension: "ts" };
  if (bytes.subarray(0, 4).equals(Buffer.from([0, 0, 1, 0xba])))
    return { kind: "video", type: "video/mpeg", extension: "mpg" };
  if (bytes.subarray(0, 3).toString("latin1") === "FLV")
    return { kind: "video", type: "video/x-flv", extension: "flv" };
  return undefined;
}

const [BACKSPACE, SHIFT_OUT, ESCAPE, SPACE] = [0x08, 0x0e, 0x1b, 0x20];

/** Control characters that no text has: all but tabs, ends of lines and pages, and escape. */
function isBinary(byte: number): boolean {
  return byte <= BACKSPACE || (byte >= SHIFT_OUT && byte < SPACE && byte !== ESCAPE);
}

/** Why content is none of the known types. */
export function whyUnknown(head: Uint8Array): string {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFFED_BYTES));
  if (bytes.length === 0) return "it is empty";
  if (bytes.subarray(0, 2).equals(ZIP_ENTRY.subarray(0, 2))) return "it is an archive, and not DOCX, PPTX or XLSX";
  const isUtf16 = ["fffe", "feff"].includes(bytes.toString("hex", 0, 2));
  return isUtf16 || !bytes.some(isBinary) ? "text must be UTF-8" : "its type is not known";
}

function sniffText(bytes: Buffer, extension: string): FoundType | undefined {
  if (bytes.length === 0) return undefined;
  // the end of the piece may cut a character
  const text = new TextDecoder("utf-8", { fatal: false }).decode(bytes).replace(/^\ufeff/, "");
  const isText = !bytes.some(isBinary) && !text.slice(0, -2).includes("\ufffd");
  if (!isText) return undefined;
  const start = text.trimStart().slice(0, 200).toLowerCase();
  if (/^(?:<!doctype html|<html|<head|<body)/.test(start)) return TEXTS.html;
  if (afterComments(start.replace(/^<\?xml[^>]*>/, "")).startsWith("<svg")) return TEXTS.svg;
  if (start.startsWith("<?xml")) return extension === "html" ? TEXTS.html : TEXTS.xml;
  return TEXTS[extension] ?? TEXTS.txt;
}

/** The text after comments at its beginning, in linear time. */
function afterComments(text: string): string {
  let rest = text.trimStart();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->", 4);
    if (end < 0) return "";
    rest = rest.slice(end + 3).trimStart();
  }
  return rest;
}

function extensionOf(name: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? "";
}
