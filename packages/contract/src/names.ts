import { appError } from "./errors.ts";

/**
 * Names and addresses. Local names fold to lower case. The form of an address shows whether it is local (`main/docs`)
 * or hosted (`cloud://acme:main/docs`). Its last part can be a table or a service: the calling parser decides.
 */
declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** PostgreSQL truncates identifiers at 63 bytes; these names are ASCII. */
export const MAX_NAME_LENGTH = 63;
export const MAX_ORGANIZATION_LENGTH = 29;
export const HOSTED_SCHEME = "cloud://";

type NameKind = "column" | "table" | "folder" | "service" | "database" | "organization";

type FolderName = Branded<string, "folder">;
type DatabaseName = Branded<string, "database">;
type OrganizationName = Branded<string, "organization">;

/** A local database and the folders inside it, none for its root. */
export type LocalTarget = Branded<
  {
    readonly kind: "local";
    readonly database: DatabaseName;
    readonly folders: readonly FolderName[];
    /** Canonical form: `main/reports`. */
    readonly text: string;
  },
  "local target"
>;

/** A hosted database: `cloud://acme:main`. */
export type DatabaseUri = Branded<
  { readonly organization: OrganizationName; readonly database: DatabaseName; readonly text: string },
  "database uri"
>;

export type HostedTarget = Branded<
  {
    readonly kind: "hosted";
    readonly uri: DatabaseUri;
    readonly folders: readonly FolderName[];
    /** Canonical form: `cloud://acme:main/reports`. */
    readonly text: string;
  },
  "hosted target"
>;

export type Target = LocalTarget | HostedTarget;

/** The path of a table: `main.docs`, `cloud://acme:main/docs`. */
export type TablePath = Branded<
  { readonly target: Target; readonly table: string; readonly text: string },
  "table path"
>;

/** The path of a service: `main/ingest`, `cloud://acme:main/ingest`. */
export type ServiceName = Branded<
  { readonly target: Target; readonly service: string; readonly text: string },
  "service name"
>;

/** Names that would collide with names of PostgreSQL or the engine. */
const RESERVED: Readonly<Record<NameKind, readonly string[]>> = {
  column: ["_row", "_errors", "_base_row", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"],
  table: [],
  folder: ["appdb", "public", "information_schema"],
  service: [],
  database: ["postgres", "template0", "template1"],
  organization: [],
};

const PLAIN = /^[a-z][a-z0-9_]*$/;
const WITH_HYPHENS = /^[a-z][a-z0-9_-]*$/;
const ORGANIZATION = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** Parses a local target: `main`, `main/reports`.
 *  @throws invalid_target, also for a hosted one */
export function parseLocalTarget(text: string): LocalTarget {
  const target = parseTarget(text);
  if (target.kind === "local") return target;
  throw appError("invalid_target", {
    detail: `${target.text} is a hosted database; expected a local target.`,
    hint: `Write a local name, for example: ${target.uri.database}`,
    meta: { target: text },
  });
}

/** Parses a target, local (`main`, `main/reports`) or hosted (`cloud://acme:main`, `cloud://acme:main/reports`).
 *  @throws invalid_target */
export function parseTarget(text: string): Target {
  return targetOf(text, { kind: "target", text });
}

/** What the user typed; errors refer to it. */
interface Asked {
  readonly kind: "target" | "table" | "service";
  readonly text: string;
}

function targetOf(path: string, asked: Asked): Target {
  refuseVersion(path);
  if (isHosted(path)) return parseHostedTarget(path, asked);
  refuseNoName(asked);
  if (asked.kind === "target") refuseFile(path);
  refuseScheme(path, asked);
  if (path.includes(".")) throw invalid(asked, "separate folders with '/', not with '.'");
  const [database, ...folders] = path.split("/");
  return localTarget(asked, database ?? "", folders);
}

/** The error for an address, with one that is valid. */
function invalid(asked: Asked, problem: string, more: { readonly part?: NameKind; readonly cause?: unknown } = {}) {
  const { text } = asked;
  const { cause, part } = more;
  return appError("invalid_target", {
    detail: `'${shown(text)}' is not valid: ${problem}.`,
    hint: `Write for example: ${suggestAddress(asked)}`,
    meta: { target: text.slice(0, 200), ...(part === undefined ? {} : { part }) },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The nearest valid address. Parts without a valid name nearby are left out. */
function suggestAddress({ kind, text }: Asked): string {
  if (text.endsWith(".py") || (SCHEME.test(text) && !isHosted(text))) return ADDRESSES[kind];
  const named = /^cloud(?::\/*|\/+(?=.*:))/i.exec(text)?.[0] ?? (isHosted(text) ? HOSTED_SCHEME : "");
  const rest = text.slice(named.length);
  const hosted = named !== "" || /^[a-z0-9-]+:[a-z]/i.test(rest);
  const [first = "", ...others] = rest.split(hosted ? /[:/]+/ : /[:/.]+/).filter((part) => part !== "");
  const name = (of: NameKind, part: string) =>
    findNameProblem(of, folded(of, part)) === undefined ? part : suggestName(of, part);
  if (hosted) {
    const organization = name("organization", first) ?? "acme";
    const [database = "main", ...folders] = others.flatMap(
      (part, at) => name(at === 0 ? "database" : "folder", part) ?? [],
    );
    const path = kind !== "target" && folders.length === 0 ? [EXAMPLES[kind]] : folders;
    return [`${HOSTED_SCHEME}${organization}:${database}`, ...path].join("/");
  }
  const parts = [first, ...others].flatMap((part, at) => name(at === 0 ? "database" : "folder", part) ?? []);
  const [only] = parts;
  if (only === undefined || parts.join("/").length > MAX_NAME_LENGTH) return ADDRESSES[kind];
  if (kind === "target" || parts.length > 1) return parts.join("/");
  // "main" is a database. Another word alone most likely is the name of the table or service.
  return only.toLowerCase() === "main" ? `${only}/${EXAMPLES[kind]}` : `main/${only}`;
}

/** The beginning of a URL. */
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const ADDRESSES: Readonly<Record<Asked["kind"], string>> = {
  target: "main",
  table: "main/docs",
  service: "main/ingest",
};

/** Parses a hosted database's address: `cloud://acme:main`.
 *  @throws invalid_target */
export function parseDatabaseUri(text: string): DatabaseUri {
  const target = isHosted(text) ? parseHostedTarget(text, { kind: "target", text }) : undefined;
  if (target !== undefined && target.folders.length === 0) return target.uri;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' is not the address of a hosted database.`,
    hint: `Write: ${target?.uri.text ?? "cloud://acme:main"}`,
    meta: { target: text },
  });
}

/** Parses a table path: `main.docs`, `main/docs`, `main/reports/docs`, `cloud://acme:main/docs`.
 *  @throws invalid_target */
export function parseTablePath(text: string): TablePath {
  refuseVersion(text);
  if (/^[^/]*\.py$/.test(text)) throw invalid({ kind: "table", text }, "it is a file, and a table is expected");
  const { target, name } = parseAddress(isHosted(text) ? text : text.replaceAll(".", "/"), { kind: "table", text });
  return branded<TablePath>({ target, table: name, text: `${target.text}/${name}` });
}

/** A table path for people: a local one typed with dots as typed, else the canonical form. */
export function shownTablePath(typed: string, path: string): string {
  return !isHosted(typed) && typed.includes(".") ? typed : path;
}

/** Parses a service path: `main/ingest`, `main/reports/ingest`, `cloud://acme:main/ingest`.
 *  @throws invalid_target */
export function parseServiceName(text: string): ServiceName {
  const { target, name } = parseAddress(text, { kind: "service", text });
  return branded<ServiceName>({ target, service: name, text: `${target.text}/${name}` });
}

/** The name of a service in commands: `main/ingest`. */
export function serviceText(service: { readonly catalog_path: string; readonly name: string }): string {
  return `${service.catalog_path}/${service.name}`;
}

/** True for an address with a template placeholder, `cloud://<your-org>:main`. */
export function isPlaceholder(text: string): boolean {
  return isHosted(text) && /<[^<>]*>/.test(text);
}

/** True for anything that begins like a hosted address, valid or not. */
export function isHosted(text: string): boolean {
  return text.toLowerCase().startsWith(HOSTED_SCHEME);
}

/** Parses a name: a letter (a-z) first, then letters, digits and `_`. All but column names can also have `-`. Names
 *  fold to lower case and have at most 63 characters. An organization's name does not fold: lower-case letters,
 *  digits and `-`, a letter or digit at both ends, at most 29.
 *  @throws invalid_name */
export function parseName(kind: NameKind, text: string): string {
  const name = folded(kind, text);
  const problem = findNameProblem(kind, name);
  if (problem === undefined) return name;
  const suggestion = suggestName(kind, name);
  throw appError("invalid_name", {
    detail: `'${shown(text)}' is not a valid ${kind} name: ${problem}.`,
    hint: suggestion === undefined ? `Write a name such as ${EXAMPLES[kind]}` : `Write for example: ${suggestion}`,
    meta: { kind, name: text.slice(0, 200) },
  });
}

/** An organization's name does not fold to lower case. */
function folded(kind: NameKind, text: string): string {
  return kind === "organization" ? text : text.toLowerCase();
}

const EXAMPLES: Readonly<Record<NameKind, string>> = {
  column: "title",
  table: "docs",
  folder: "reports",
  service: "ingest",
  database: "main",
  organization: "acme",
};

/** Why a name in lower case is not valid; undefined for a valid one. */
export function findNameProblem(kind: NameKind, name: string): string | undefined {
  if (name === "") return "it is empty";
  if (RESERVED[kind].includes(name) || (kind === "folder" && name.startsWith("pg_"))) return "it is reserved";
  if (kind === "organization") {
    if (name.length > MAX_ORGANIZATION_LENGTH) return tooLong(name, MAX_ORGANIZATION_LENGTH);
    if (ORGANIZATION.test(name)) return undefined;
    return "names have lower-case letters, digits and '-', and a letter or digit at both ends";
  }
  if (name.length > MAX_NAME_LENGTH) return tooLong(name, MAX_NAME_LENGTH);
  if (kind === "column")
    return PLAIN.test(name) ? undefined : "names begin with a letter (a-z), followed by letters, digits and '_'";
  return WITH_HYPHENS.test(name)
    ? undefined
    : "names begin with a letter (a-z), followed by letters, digits, '_' and '-'";
}

function tooLong(name: string, max: number): string {
  return `it has ${name.length} characters, the maximum is ${max}`;
}

/** A valid name near a wrong one, when only some of its letters are wrong. */
function suggestName(kind: NameKind, name: string): string | undefined {
  const suggestion = repairName(kind, name.toLowerCase())
    .slice(0, MAX_NAME_LENGTH)
    .replace(/[-_]+$/, "");
  return findNameProblem(kind, suggestion) === undefined ? suggestion : undefined;
}

function repairName(kind: NameKind, lower: string): string {
  if (kind === "column") return lower.replace(/[^a-z0-9_]+/g, "_").replace(/^[^a-z]+/, "");
  if (kind !== "organization") return lower.replace(/[^a-z0-9_-]+/g, "-").replace(/^[^a-z]+/, "");
  return lower
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, MAX_ORGANIZATION_LENGTH);
}

function parseHostedTarget(path: string, asked: Asked): HostedTarget {
  const [place = "", ...folderTexts] = path.slice(HOSTED_SCHEME.length).split("/");
  const parts = place.split(":");
  const [organizationText, databaseText] = parts;
  if (parts.length !== 2 || !organizationText || !databaseText) {
    throw invalid(asked, `expected ${HOSTED_SCHEME}<organization>:<database>`);
  }
  const organization = partOf(asked, "organization", organizationText) as OrganizationName;
  const database = partOf(asked, "database", databaseText) as DatabaseName;
  const folders = folderTexts.map((folder) => partOf(asked, "folder", folder) as FolderName);
  refuseLongFolders(asked, folders);
  const uri = branded<DatabaseUri>({ organization, database, text: `${HOSTED_SCHEME}${organization}:${database}` });
  return branded<HostedTarget>({ kind: "hosted", uri, folders, text: [uri.text, ...folders].join("/") });
}

function localTarget(asked: Asked, databaseText: string, folderTexts: readonly string[]): LocalTarget {
  const database = partOf(asked, "database", databaseText) as DatabaseName;
  const folders = folderTexts.map((folder) => partOf(asked, "folder", folder) as FolderName);
  refuseLongFolders(asked, folders);
  return branded<LocalTarget>({ kind: "local", database, folders, text: [database, ...folders].join("/") });
}

/** The folders of a target are joined by '/' into one PostgreSQL schema name. */
function refuseLongFolders({ text }: Asked, folders: readonly FolderName[]): void {
  const joined = folders.join("/");
  if (joined.length <= MAX_NAME_LENGTH) return;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' is not a valid target: its folders have ${joined.length} characters together, the maximum is ${MAX_NAME_LENGTH}.`,
    hint: "Use shorter or fewer folders.",
    meta: { target: text.slice(0, 200) },
  });
}

/** Splits `path` (the user's text with `/` between its parts) into target and last name. */
function parseAddress(
  path: string,
  asked: Asked & { readonly kind: "table" | "service" },
): { target: Target; name: string } {
  refuseNoName(asked);
  const { kind, text } = asked;
  const hosted = isHosted(path);
  const cut = path.lastIndexOf("/");
  if (hosted ? cut < HOSTED_SCHEME.length : cut < 0) {
    throw appError("invalid_target", {
      detail: `'${shown(text)}' does not name a ${kind}: expected a target and a ${kind}, with '/' between them.`,
      hint: `Write for example: ${suggestAddress(asked)}`,
      meta: { address: text.slice(0, 200) },
    });
  }
  return { target: targetOf(path.slice(0, cut), asked), name: partOf(asked, kind, path.slice(cut + 1)) };
}

/** A name inside an address. The error refers to the address, because the user typed that. */
function partOf(asked: Asked, kind: NameKind, text: string): string {
  try {
    return parseName(kind, text);
  } catch (cause) {
    const problem = findNameProblem(kind, folded(kind, text)) ?? "it is not valid";
    throw invalid(
      asked,
      text === "" ? `the ${kind} is empty` : `the ${kind} '${shown(text)}' is not a valid name; ${problem}`,
      { part: kind, cause },
    );
  }
}

/** The only place that assigns a brand. */
function branded<T extends object>(value: Omit<T, typeof brand>): T {
  return value as T;
}

function refuseNoName(asked: Asked): void {
  if (asked.text.trim() !== "") return;
  throw appError("invalid_target", {
    detail: `The ${asked.kind} is empty.`,
    hint: `Write for example: ${ADDRESSES[asked.kind]}`,
    meta: { target: asked.text },
  });
}

/** Most likely file and target are swapped. */
function refuseFile(text: string): void {
  if (!text.endsWith(".py")) return;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' is a file; expected a database.`,
    hint: `Name the file first, then the database: ${shown(text)} main`,
    meta: { target: text.slice(0, 200) },
  });
}

/** `acme:main` lacks the scheme of a hosted address, and `https://...` has another one. */
function refuseScheme(path: string, asked: Asked): void {
  if (!/^cloud:\//i.test(asked.text) && !SCHEME.test(asked.text) && !/^[a-z0-9-]+:[a-z][^:]*$/i.test(path)) return;
  throw appError("invalid_target", {
    detail: `'${shown(asked.text)}' is not a ${asked.kind}: the address of a hosted database begins with ${HOSTED_SCHEME}.`,
    hint: `Write: ${suggestAddress(asked)}`,
    meta: { target: asked.text.slice(0, 200) },
  });
}

/** `main/docs:3` names a past version of a table in systems with versioned tables. */
function refuseVersion(text: string): void {
  const local = isHosted(text) ? text.slice(HOSTED_SCHEME.length).replace(/^[^/:]*:/, "") : text;
  const version = /:([0-9]+)$/.exec(local)?.[1];
  if (version === undefined || SCHEME.test(local)) return;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' asks for version ${shown(version)} of a table, but tables do not keep versions.`,
    hint:
      `Omit ':${shown(version)}'. Branches and point-in-time restore will come in a later version; ` +
      "until then, use pg_dump to keep copies.",
    meta: { target: text.slice(0, 200) },
  });
}

/** Text for a message: one line, shortened, with control characters visible. */
export function shown(text: string): string {
  const line = JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text).slice(1, -1);
  return line.replaceAll('\\"', '"');
}
