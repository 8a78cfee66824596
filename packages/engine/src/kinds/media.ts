import { isDeepStrictEqual } from "node:util";
import { plainAddress, printReference, REFERENCE_END, REFERENCE_START } from "@appdb/contract/media";
import { type ColumnType, type EngineValue, isMediaKind, type MediaKind } from "@appdb/contract/types";
import { typeMismatch } from "../values/describe-value.ts";
import { parseText } from "../values/parse-text.ts";
import { StoredMedia } from "../values/stored-media.ts";
import { ValueError } from "../values/value-error.ts";
import {
  AGGREGATES,
  COLLATION,
  escapeCopy,
  orNull,
  PLAIN_IN_URL,
  PLAIN_NULL,
  quoteElement,
  same,
  storedAs,
  typedLiteral,
} from "./common.ts";
import { BINARY_CHECKED } from "./inserts/binary-forms.ts";
import type { Kind, Value } from "./kind.ts";
import { ADDRESSES } from "./results/arrow-columns.ts";
import { PACKED_FILES } from "./results/pack-forms.ts";
import { hashOfText } from "./string.ts";
import { KEPT, type TypeChange } from "./type-change.ts";

/** Schemes of addresses that stay where they are. A request cannot name files of a server. */
const OUTSIDE = /^(?:https?|s3|gs|wasbs?|abfss?):\/\/[^\s]+$/;
/** Addresses in the database's own media store, which a route replaces by the files (rows, own-media.ts). */
const OWN = /^mediafs:\/\/[^/\s]+\/home\/./;
const MAX_ADDRESS = 4_096;
const EXAMPLES = { image: "image.png", video: "video.mp4", audio: "audio.mp3", document: "document.pdf" } as const;
/** OpenAPI's media types of what an address leads to. */
const CONTENT = { image: "image/*", video: "video/*", audio: "audio/*", document: "application/octet-stream" } as const;

/** Pictures, by reference. */
export const image = mediaKind("image");
/** Films, by reference. */
export const video = mediaKind("video");
/** Sounds, by reference. */
export const audio = mediaKind("audio");
/** PDF, HTML, Markdown, text and office files, by reference. */
export const document = mediaKind("document");

/** What the four have in common: a cell is the JSON text of a reference, and callers are given addresses. */
function mediaKind(kind: MediaKind): Kind {
  return {
    parse: parseMedia,
    parseUrl(text) {
      const parsed = parseMedia(text);
      return parsed instanceof ValueError ? undefined : parsed;
    },
    ...PLAIN_IN_URL,
    urlForm: "; media are an address: https://host/file",
    hasEmptyText: false,
    toJson: markReference,
    fromLiteral: (value) => value,
    literalJson: (value) => plainAddress(String(value)),

    ...storedAs("text", COLLATION),
    toSql: String,
    toElement: quoteElement,
    toCopy: escapeCopy,
    fromSql: same,
    textWriter: () => markReference,
    fieldWriter: (other) => other,
    castedText: same,
    size: null,
    isJsonValue: false,
    isForeignSql: null,
    isWatched: false,

    index: null,
    key: hashOfText,
    isOrdered: false,
    equals: null,
    membership: null,

    literalSql: (value) => typedLiteral(value, "text"),
    casts: {},
    ...PLAIN_NULL,
    printed: null,
    isJsonAlike: false,
    isVector: false,
    aggregates: AGGREGATES,
    changes: { [kind]: widen },

    wire: null,
    packed: null,
    isLong: false,
    binary: BINARY_CHECKED,
    arrow: ADDRESSES,
    pack: PACKED_FILES,

    schema: () => ({ type: "string", format: "uri", contentMediaType: CONTENT[kind] }),
    nullable: orNull,
    example: () => `https://example.com/${EXAMPLES[kind]}`,
    fits: ({ category }) => category === "S",

    samples: {
      type: { kind },
      values: [
        printReference({ url: `https://example.com/${EXAMPLES[kind]}` }),
        printReference({ store: "home", key: `00/${"0".repeat(64)}.bin`, type: "application/octet-stream", bytes: 0 }),
        printReference({ store: "s3://bucket/a", key: `ff/${"f".repeat(64)}.x`, name: `a"b\\c'd é.x` }),
      ],
      random: null,
    },
  };
}

/** A column may take images of further sizes and modes. */
function widen(from: ColumnType, to: ColumnType): TypeChange | undefined {
  const isWider = [
    [from.size, to.size],
    [from.mode, to.mode],
  ].every(([before, after]) => after === undefined || isDeepStrictEqual(before, after));
  return isWider ? KEPT : undefined;
}

/** Reads an address, or what an upload of the same request was stored as. */
function parseMedia(value: unknown): EngineValue | ValueError {
  if (value instanceof StoredMedia) return value.cell;
  if (isDescription(value)) {
    return new ValueError('Expected the address of a file in a string, got an object. Write its "uri", or its "url".');
  }
  if (typeof value !== "string") return typeMismatch("the address of a file in a string", value);
  if (value.length > MAX_ADDRESS)
    return new ValueError(`The address has ${value.length} characters; at most ${MAX_ADDRESS} are allowed.`);
  const text = parseText(value);
  if (text instanceof ValueError) return text;
  if (OWN.test(value)) return printReference({ url: value });
  if (/^[a-z0-9]+:\/\/.*\s/.test(value)) return new ValueError("The address has a space. Write it as %20.");
  if (!OUTSIDE.test(value) || !URL.canParse(value)) {
    return typeMismatch(
      "an address that begins with https://, http://, s3://, gs://, wasbs:// or mediafs://; upload other files",
      value,
    );
  }
  const { username, password } = new URL(value);
  const hasUser = /^https?:/.test(value) && (username !== "" || password !== "");
  return hasUser
    ? new ValueError("The address has a user or a password. Leave them out.")
    : printReference({ url: value });
}

/** Whether a value is how a list of rows describes a file (contract, FileCell). */
function isDescription(value: unknown): boolean {
  return typeof value === "object" && value !== null && "address" in value && ("uri" in value || "url" in value);
}

/** A reference on its way to a caller. JSON of references has no control characters. */
function markReference(value: Value): string {
  return REFERENCE_START + (value as string) + REFERENCE_END;
}

export function isMedia(kind: ColumnType["kind"]): kind is MediaKind {
  return isMediaKind(kind);
}
