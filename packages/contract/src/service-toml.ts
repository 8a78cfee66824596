import * as z from "zod";
import { AppError, appError, type FieldError } from "./errors.ts";
import { isHosted, isPlaceholder, parseDatabaseUri, parseTarget } from "./names.ts";
import { nearestName } from "./nearest.ts";

/** Debian package names with an optional version: `ffmpeg`, `libpq5=17.2-1`. */
export const SYSTEM_PACKAGE = /^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$/;
/** `3.12`, `3.12.8` */
export const PYTHON_VERSION = /^3\.\d{1,2}(\.\d{1,2})?$/;

/**
 * The project's configuration: `[service]` and `[[service.database]]` of service.toml, or the same below `[tool]` in
 * pyproject.toml. This file handles values, not TOML: the caller parses the text.
 */
const nonEmpty = z.string().trim().min(1, "must not be empty");
/** Maximum patterns of one list. */
export const MAX_PATTERNS = 1_000;
const patterns = z.array(nonEmpty).max(MAX_PATTERNS, `must have at most ${MAX_PATTERNS} patterns`);
const positive = z.int("must be an integer").min(1, "must be at least 1");

const systemPackage = z.string().regex(SYSTEM_PACKAGE, "must be a Debian package name such as ffmpeg");

const MAX_PACKAGES = 200;
const MAX_SOURCES = 100;

const databaseEntryShape = {
  /** A hosted database's address; an entry without one is the local database. */
  name: z.string().optional(),
  vars: z.record(z.string(), z.string()).optional(),
  include: patterns.optional(),
  exclude: patterns.optional(),
  include_only: patterns.optional(),
  python_version: z.string().regex(PYTHON_VERSION, 'must be a Python version such as "3.12" or "3.12.8"').optional(),
  system_packages: z.array(systemPackage).max(MAX_PACKAGES, `must have at most ${MAX_PACKAGES} packages`).optional(),
  /** Additional options of `uv sync`, or of `uv pip install` for a requirements.txt; words with spaces in quotes. */
  uv_options: z.string().optional(),
  cpu: z.number("must be a number").positive("must be more than 0").optional(),
  memory_mb: positive.optional(),
  disk_gb: positive.optional(),
  workers: positive.optional(),
  /** Maximum size of its media store where the server has a bucket; otherwise `disk_gb` is. */
  media_gb: positive.optional(),
  db_input_media_dest: nonEmpty.optional(),
  db_output_media_dest: nonEmpty.optional(),
  /** Further stores whose files requests may name: `s3://bucket/prefix`. */
  db_media_sources: z.array(nonEmpty).max(MAX_SOURCES, `must have at most ${MAX_SOURCES} stores`).optional(),
  /** Idle time after which a hosted database sleeps: `90s`, `15m`, `2h`, `1d`, or `never`. */
  sleep_after: z
    .string()
    .regex(/^([1-9]\d*[smhd]|never)$/, 'must be a time such as "15m" or "2h", or "never"')
    .optional(),
  wake_on_request: z.boolean("must be true or false").optional(),
};

export const databaseEntrySchema = z.strictObject(databaseEntryShape);
export type DatabaseEntry = z.infer<typeof databaseEntrySchema>;

const serviceShape = { api_key: nonEmpty.optional(), database: z.array(databaseEntrySchema).optional() };
const serviceConfigSchema = z.strictObject(serviceShape);
export type ServiceConfig = z.infer<typeof serviceConfigSchema>;

/** `[service]` of the home's config.toml. The server's address is here and never in a project: a cloned project
 *  could otherwise send the user's credential anywhere. */
const homeShape = { api_key: nonEmpty.optional(), api_url: nonEmpty.optional() };
const homeConfigSchema = z.strictObject(homeShape);
export type HomeConfig = z.infer<typeof homeConfigSchema>;

/** The source of a configuration, for messages. */
export interface ConfigLocation {
  /** The name of the file for people: `service.toml`. */
  readonly file: string;
  /** Header of the section: `service`, or `tool.service` in pyproject.toml. */
  readonly section: "service" | "tool.service";
  /** The 1-based line of a key, with its path from the section on: `["database", 1, "cpu"]`. Undefined if unknown. */
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

/** Checks the value of the section: unknown keys, types, names, conflicts. Reports all problems at once. Ignores an
 *  entry for a hosted database whose name still has a placeholder (`cloud://<your-org>:main`).
 *  @throws config_invalid with file, line and the nearest known key */
export function parseServiceConfig(value: unknown, location: ConfigLocation): ServiceConfig {
  const parsed = serviceConfigSchema.safeParse(value);
  const problems = parsed.success ? findConflicts(parsed.data) : describeIssues(parsed.error, serviceShape);
  if (parsed.success && problems.length === 0) return parsed.data;
  throw invalidConfig(problems, location);
}

/** Checks the section of the home's config.toml. @throws config_invalid with file, line and the nearest known key */
export function parseHomeConfig(value: unknown, location: ConfigLocation): HomeConfig {
  const parsed = homeConfigSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidConfig(describeIssues(parsed.error, homeShape), location);
}

function invalidConfig(problems: readonly ConfigProblem[], location: ConfigLocation): Error {
  const lines = problems.map((problem) => printProblem(problem, location));
  return appError("config_invalid", {
    detail: lines.join("\n"),
    hint:
      problems.find((problem) => problem.hint !== undefined)?.hint ??
      `Correct ${location.file} and run the command again.`,
    meta: { file: location.file },
    errors: problems.map((problem): FieldError => ({ pointer: pointerOf(problem.path), detail: problem.text })),
  });
}

/** The entry of the local database: the one without a name; empty when the project has none. */
export function localEntry(config: ServiceConfig): DatabaseEntry {
  return config.database?.find((entry) => entry.name === undefined) ?? {};
}

/** Keys for a hosted database, its machine or its image. In the local entry they are checked but have no effect. */
const HOSTED_KEYS = [
  "cpu",
  "memory_mb",
  "disk_gb",
  "media_gb",
  "sleep_after",
  "wake_on_request",
  "system_packages",
  "vars",
  "db_input_media_dest",
  "db_output_media_dest",
  "db_media_sources",
] as const satisfies readonly (keyof DatabaseEntry)[];

/** Keys of the local entry that have no effect on this machine. */
export function ignoredLocally(entry: DatabaseEntry): string[] {
  return Object.keys(entry).filter((key) => (HOSTED_KEYS as readonly string[]).includes(key));
}

interface ConfigProblem {
  readonly path: readonly PropertyKey[];
  readonly text: string;
  readonly hint?: string | undefined;
}

function describeIssues(error: z.ZodError, shape: object): ConfigProblem[] {
  return error.issues.flatMap((issue) => describeIssue(issue, shape));
}

function describeIssue(issue: z.core.$ZodIssue, shape: object): ConfigProblem[] {
  if (issue.code !== "unrecognized_keys") {
    return [{ path: issue.path, text: describeValue(issue), hint: exampleOf(issue.path) }];
  }
  const known = Object.keys(issue.path[0] === "database" ? databaseEntryShape : shape);
  return issue.keys.map((key) => {
    const suggestion = nearestName(key, known);
    return {
      path: [...issue.path, key],
      text: suggestion === undefined ? "is not a known key" : `is not a known key; did you mean '${suggestion}'?`,
      hint: suggestion === undefined ? `The keys are: ${known.join(", ")}` : `Write ${suggestion} instead of ${key}.`,
    };
  });
}

/** Values that can be written, by key. */
const EXAMPLES: Readonly<Record<string, string>> = {
  name: '"cloud://acme:main"',
  vars: '{ STAGE = "test" }',
  include: '["data/"]',
  exclude: '["notebooks/"]',
  include_only: '["app.py"]',
  python_version: '"3.12"',
  system_packages: '["ffmpeg"]',
  uv_options: '"--extra gpu"',
  cpu: "1",
  memory_mb: "1024",
  disk_gb: "10",
  media_gb: "100",
  workers: "2",
  db_input_media_dest: '"mediafs://acme:main/home"',
  db_output_media_dest: '"mediafs://acme:main/home"',
  db_media_sources: '["s3://bucket/prefix"]',
  sleep_after: '"15m"',
  wake_on_request: "true",
  api_key: '"sk_..."',
  api_url: '"https://..."',
};

function exampleOf([section, at, entryKey]: readonly PropertyKey[]): string | undefined {
  if (section === "database" && at === undefined)
    return "Write the header of this section in double brackets: each database has its own.";
  const key = String(section === "database" ? entryKey : section);
  const example = EXAMPLES[key];
  return example === undefined ? undefined : `Write for example: ${key} = ${example}`;
}

function describeValue(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_type" || issue.message.startsWith("must")) return issue.message;
  return `must be ${TYPE_WORDS[issue.expected] ?? issue.expected}`;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "text in quotes",
  array: "a list: [ ... ]",
  object: "a table",
  record: "a table of names and texts",
  boolean: "true or false",
};

function findConflicts(config: ServiceConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const seen = new Set<string>();
  for (const [index, entry] of (config.database ?? []).entries()) {
    const path = ["database", index] as const;
    const name = entry.name === undefined || isPlaceholder(entry.name) ? undefined : entry.name;
    if (name !== undefined) problems.push(...findNameProblems(name, [...path, "name"]));
    const identity = entry.name ?? "";
    if (seen.has(identity)) {
      const text =
        entry.name === undefined
          ? "a second entry without a name; one is the local database"
          : "a second entry of this name";
      const hint = "Remove one of the two entries, or give it another name.";
      problems.push({ path: entry.name === undefined ? path : [...path, "name"], text, hint });
    }
    seen.add(identity);
    if (entry.include_only !== undefined && (entry.include !== undefined || entry.exclude !== undefined)) {
      const hint = "Remove include_only, or remove include and exclude.";
      problems.push({ path: [...path, "include_only"], text: "conflicts with include or exclude", hint });
    }
  }
  return problems;
}

function findNameProblems(name: string, path: readonly PropertyKey[]): ConfigProblem[] {
  const text = `'${name}' is not the address of a hosted database; omit the name for the local database`;
  try {
    if (isHosted(name)) {
      parseDatabaseUri(name);
      return [];
    }
    parseTarget(name);
    return [{ path, text, hint: `Remove name = "${name}": all local databases use the entry without a name.` }];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [{ path, text: isHosted(name) ? error.message : text, hint: error.hint }];
  }
}

function printProblem(problem: ConfigProblem, location: ConfigLocation): string {
  const line = location.lineOf(problem.path);
  const [first, ...rest] = problem.path;
  const inDatabase = first === "database";
  const header = inDatabase ? `[[${location.section}.database]]` : `[${location.section}]`;
  const key = inDatabase ? rest.slice(1).join(".") : problem.path.join(".");
  const where = line === undefined ? location.file : `${location.file}:${line}`;
  return `${where}: ${key === "" ? header : `'${key}' in ${header}`}: ${problem.text}`;
}

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part)}`).join("");
}
