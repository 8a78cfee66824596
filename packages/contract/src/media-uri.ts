import { AppError, appError } from "./errors.ts";
import { type DatabaseUri, HOSTED_SCHEME, type LocalTarget, parseDatabaseUri, parseLocalTarget } from "./names.ts";

export const MEDIA_SCHEME = "mediafs://";
/** Where a gateway and a daemon answer addresses of media stores. No service has a name like this. */
export const MEDIA_STORE_PATH = "/_media";
const EXAMPLES = "mediafs://main/home/pictures, or mediafs://acme:main/home/pictures of a hosted database";
const STORE = /^mediafs:\/\/([^/]*)\/home(?:\/(.*))?$/su;

/** A place in the media store of a database. */
export interface MediaUri {
  readonly database: LocalTarget | DatabaseUri;
  /** The name of a file or a folder, without slashes at its ends; empty for the whole store. */
  readonly name: string;
  /** Whether it was written with a slash at its end, or names the whole store. */
  readonly is_folder: boolean;
  /** The store: `mediafs://acme:main/home`. A local database has no organization: `mediafs://main/home`. */
  readonly store: string;
}

/** Maximum characters of a name, folders included. */
export const MAX_MEDIA_NAME = 512;
/** Maximum folders and name together. */
const MAX_PARTS = 16;
/** File systems limit the parts of a path to these bytes. */
const MAX_PART_BYTES = 255;
/** Control characters, halves of characters, line separators, and marks that change the direction of a whole line. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** The key of a stored object: `<first two digits>/<sha256>.<extension>`. */
const OBJECT_KEY = /^[0-9a-f]{2}\/[0-9a-f]{64}\.[a-z0-9]{1,16}$/;
const OBJECT_FOLDER = /^[0-9a-f]{2}(?:\/|$)/;

/** True for anything that begins like an address of a media store, valid or not. */
export function isMediaUri(text: string): boolean {
  return text.toLowerCase().startsWith(MEDIA_SCHEME);
}

/** Parses `mediafs://acme:main/home/pictures`, or `mediafs://main/home/pictures` for a local database.
 *  @throws invalid_target, invalid_name */
export function parseMediaUri(text: string): MediaUri {
  const [, place, path = ""] = STORE.exec(text) ?? [];
  if (place === undefined) {
    throw invalidUri(text, `expected ${MEDIA_SCHEME}<organization>:<database>/home, or ${MEDIA_SCHEME}<database>/home`);
  }
  const database = parsePlace(text, place);
  const name = path.replace(/\/$/, "");
  const store = `${MEDIA_SCHEME}${database.text.replace(HOSTED_SCHEME, "")}/home`;
  const is_folder = name === "" || path.endsWith("/");
  return { database, name: name === "" ? "" : checkName(name), is_folder, store };
}

function parsePlace(text: string, place: string): LocalTarget | DatabaseUri {
  try {
    return place.includes(":") ? parseDatabaseUri(`${HOSTED_SCHEME}${place}`) : parseLocalTarget(place);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw invalidUri(text, `"${place}" is not a database`, cause);
  }
}

function invalidUri(text: string, problem: string, cause?: unknown): Error {
  return appError("invalid_target", {
    detail: `${JSON.stringify(text.slice(0, 200))} is not the address of a media store: ${problem}.`,
    hint: `Write for example: ${EXAMPLES}`,
    meta: { target: text.slice(0, 200) },
    cause,
  });
}

/** True for the key of an object that the store named by its content. */
export function isObjectKey(name: string): boolean {
  return OBJECT_KEY.test(name);
}

/** True for the folders that hold objects which the store named by their content: `5f`, `5f/...`. */
export function isObjectFolder(name: string): boolean {
  return OBJECT_FOLDER.test(name);
}

/** The key of an object, by its content and the extension of its type. */
export function objectKey(sha256: string, extension: string): string {
  return `${sha256.slice(0, 2)}/${sha256}.${extension}`;
}

/** The content of an object by its key: its SHA-256 in hex. */
export function hashOfKey(key: string): string {
  return key.slice(3, 67);
}

/** A name as a label: halves of characters are replaced, and other characters that cannot be printed left out. */
export function printableName(text: string): string {
  return text.toWellFormed().replace(new RegExp(UNPRINTABLE, "gu"), "");
}

/** Checks the name that a person gives to a file. Returns it in Unicode's composed form. @throws invalid_name */
export function checkMediaName(text: string): string {
  const name = checkName(text);
  if (isObjectKey(name)) throw invalidName(name, "names of this form are those of files of rows, by their content");
  return name;
}

function checkName(text: string): string {
  const name = text.normalize("NFC");
  const problem = findProblem(name);
  if (problem !== undefined) throw invalidName(name, problem);
  return name;
}

function findProblem(name: string): string | undefined {
  if (name.length > MAX_MEDIA_NAME) return `it has ${name.length} characters, the maximum is ${MAX_MEDIA_NAME}`;
  if (UNPRINTABLE.test(name)) return "it has characters that cannot be printed";
  if (name.includes("\\")) return "separate folders by '/'";
  const parts = name.split("/");
  if (parts.length > MAX_PARTS) return `it has ${parts.length} parts, the maximum is ${MAX_PARTS}`;
  for (const part of parts) {
    if (part === "") return "a part of it is empty";
    if (part === "." || part === "..") return `a part of it is '${part}'`;
    if (new TextEncoder().encode(part).length > MAX_PART_BYTES) {
      return `a part of it has more than ${MAX_PART_BYTES} bytes`;
    }
  }
  return undefined;
}

function invalidName(name: string, problem: string): Error {
  return appError("invalid_name", {
    detail: `${JSON.stringify(name.slice(0, 200))} cannot name a file of a media store: ${problem}.`,
    hint: "Write a name such as pictures/holiday.jpg",
    meta: { name: name.slice(0, 200) },
  });
}
