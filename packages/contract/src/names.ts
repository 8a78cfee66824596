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
  column: ["_row", "_errors"],
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
  refuseVersion(text);
  if (isHosted(text)) return parseHostedTarget(text);
  refuseNoName(text, "target", "main");
  refuseFile(text);
  refuseMissingScheme(text);
  if (text.includes(".")) {
    throw appError("invalid_target", {
      detail: `'${shown(text)}' is not a valid target: separate folders with '/', not with '.'.`,
      hint: `Write: ${shown(text).replaceAll(".", "/")}`,
      meta: { target: text },
    });
  }
  const [database, ...folders] = text.split("/");
  return localTarget(text, database ?? "", folders);
}

/** Parses a hosted database's address: `cloud://acme:main`.
 *  @throws invalid_target */
export function parseDatabaseUri(text: string): DatabaseUri {
  const target = isHosted(text) ? parseHostedTarget(text) : undefined;
  if (target !== undefined && target.folders.length === 0) return target.uri;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' is not the address of a hosted database.`,
    hint: "Write: cloud://acme:main",
    meta: { target: text },
  });
}

/** Parses a table path: `main.docs`, `main/docs`, `main/reports/docs`, `cloud://acme:main/docs`.
 *  @throws invalid_target */
export function parseTablePath(text: string): TablePath {
  refuseVersion(text);
  const { target, name } = parseAddress("table", isHosted(text) ? text : text.replaceAll(".", "/"), text);
  return branded<TablePath>({ target, table: name, text: `${target.text}/${name}` });
}

/** A table path for people: a local one typed with dots as typed, else the canonical form. */
export function shownTablePath(typed: string, path: string): string {
  return !isHosted(typed) && typed.includes(".") ? typed : path;
}

/** Parses a service path: `main/ingest`, `main/reports/ingest`, `cloud://acme:main/ingest`.
 *  @throws invalid_target */
export function parseServiceName(text: string): ServiceName {
  const { target, name } = parseAddress("service", text, text);
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
  const name = kind === "organization" ? text : text.toLowerCase();
  const problem = findNameProblem(kind, name);
  if (problem === undefined) return name;
  const suggestion = suggestName(kind, name);
  throw appError("invalid_name", {
    detail: `'${shown(text)}' is not a valid ${kind} name: ${problem}.`,
    hint: suggestion === undefined ? `Write a name such as ${EXAMPLES[kind]}` : `Write for example: ${suggestion}`,
    meta: { kind, name: text.slice(0, 200) },
  });
}

const EXAMPLES: Readonly<Record<NameKind, string>> = {
  column: "title",
  table: "docs",
  folder: "reports",
  service: "ingest",
  database: "main",
  organization: "acme",
};

function findNameProblem(kind: NameKind, name: string): string | undefined {
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

function parseHostedTarget(text: string): HostedTarget {
  const [place = "", ...folderTexts] = text.slice(HOSTED_SCHEME.length).split("/");
  const parts = place.split(":");
  const [organizationText, databaseText] = parts;
  if (parts.length !== 2 || !organizationText || !databaseText) {
    throw appError("invalid_target", {
      detail: `'${shown(text)}' is not a valid hosted address: expected ${HOSTED_SCHEME}<organization>:<database>.`,
      hint: "Write: cloud://acme:main",
      meta: { target: text.slice(0, 200) },
    });
  }
  const organization = partOf(text, "organization", organizationText) as OrganizationName;
  const database = partOf(text, "database", databaseText) as DatabaseName;
  const folders = folderTexts.map((folder) => partOf(text, "folder", folder) as FolderName);
  refuseLongFolders(text, folders);
  const uri = branded<DatabaseUri>({ organization, database, text: `${HOSTED_SCHEME}${organization}:${database}` });
  return branded<HostedTarget>({ kind: "hosted", uri, folders, text: [uri.text, ...folders].join("/") });
}

function localTarget(text: string, databaseText: string, folderTexts: readonly string[]): LocalTarget {
  const database = partOf(text, "database", databaseText) as DatabaseName;
  const folders = folderTexts.map((folder) => partOf(text, "folder", folder) as FolderName);
  refuseLongFolders(text, folders);
  return branded<LocalTarget>({ kind: "local", database, folders, text: [database, ...folders].join("/") });
}

/** The folders of a target are joined by '/' into one PostgreSQL schema name. */
function refuseLongFolders(text: string, folders: readonly FolderName[]): void {
  const joined = folders.join("/");
  if (joined.length <= MAX_NAME_LENGTH) return;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' is not a valid target: its folders have ${joined.length} characters together, the maximum is ${MAX_NAME_LENGTH}.`,
    hint: "Use shorter or fewer folders.",
    meta: { target: text.slice(0, 200) },
  });
}

/** Splits `path` (the user's `text` with `/` between its parts) into target and last name. */
function parseAddress(kind: "table" | "service", path: string, text: string): { target: Target; name: string } {
  refuseNoName(text, kind, kind === "table" ? "main.docs" : "main/ingest");
  const hosted = isHosted(path);
  const cut = path.lastIndexOf("/");
  if (hosted ? cut < HOSTED_SCHEME.length : cut < 0) {
    throw appError("invalid_target", {
      detail: `'${shown(text)}' does not name a ${kind}: expected a target and a ${kind}, with '/' between them.`,
      // "main" alone is a database without a table or service. Another word most likely is that name itself.
      hint: `Write for example: ${hosted || text === "main" ? `${shown(text)}/${EXAMPLES[kind]}` : `main/${shown(text)}`}`,
      meta: { address: text.slice(0, 200) },
    });
  }
  return { target: parseTarget(path.slice(0, cut)), name: partOf(text, kind, path.slice(cut + 1)) };
}

/** A name inside an address. The error refers to the address, because the user typed that. */
function partOf(address: string, kind: NameKind, text: string): string {
  try {
    return parseName(kind, text);
  } catch (cause) {
    const problem = findNameProblem(kind, kind === "organization" ? text : text.toLowerCase()) ?? "it is not valid";
    const suggestion = suggestName(kind, text);
    const repaired = suggestion === undefined || text === "" ? undefined : shown(address).replace(text, suggestion);
    throw appError("invalid_target", {
      detail: `'${shown(address)}' is not valid: the ${kind} '${shown(text)}' is not a valid name; ${problem}.`,
      hint: `Write for example: ${repaired ?? (isHosted(address) ? "cloud://acme:main" : "main")}`,
      meta: { target: address.slice(0, 200), part: kind },
      cause,
    });
  }
}

/** The only place that assigns a brand. */
function branded<T extends object>(value: Omit<T, typeof brand>): T {
  return value as T;
}

function refuseNoName(text: string, what: string, example: string): void {
  if (text.trim() !== "") return;
  throw appError("invalid_target", {
    detail: `The ${what} is empty.`,
    hint: `Write for example: ${example}`,
    meta: { target: text },
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

/** `acme:main` lacks the scheme of a hosted address. */
function refuseMissingScheme(text: string): void {
  if (!/^[a-z0-9-]+:[a-z][^:]*$/i.test(text)) return;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' is not a target: the address of a hosted database begins with ${HOSTED_SCHEME}.`,
    hint: `Write: ${HOSTED_SCHEME}${shown(text)}`,
    meta: { target: text.slice(0, 200) },
  });
}

/** `main/docs:3` names a past version of a table in systems with versioned tables. */
function refuseVersion(text: string): void {
  const local = isHosted(text) ? text.slice(HOSTED_SCHEME.length).replace(/^[^/:]*:/, "") : text;
  const version = /:([0-9]+)$/.exec(local)?.[1];
  if (version === undefined) return;
  throw appError("invalid_target", {
    detail: `'${shown(text)}' asks for version ${shown(version)} of a table, but tables do not keep versions.`,
    hint:
      `Omit ':${shown(version)}'. Branches and point-in-time restore will come in a later version;` +
      "until then, use pg_dump to keep copies.",
    meta: { target: text.slice(0, 200) },
  });
}

/** Text for a message: one line, shortened, with control characters visible. */
function shown(text: string): string {
  const line = JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text).slice(1, -1);
  return line.replaceAll('\\"', '"');
}
