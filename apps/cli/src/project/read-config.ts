import { appError } from "@appdb/contract/errors";
import { type HomeConfig, parseHomeConfig, parseServiceConfig, type ServiceConfig } from "@appdb/contract/service-toml";
import { parse, TomlError } from "smol-toml";
import type { Project } from "./find-project.ts";
import { findKeyLine } from "./key-line.ts";

/** Parses and checks a project's configuration. @throws config_invalid with file and line */
export function readConfig(project: Pick<Project, "config_file" | "text">): ServiceConfig {
  const { config_file: file, text } = project;
  const document = parseToml(file, text);
  const inTool = file === "pyproject.toml";
  const section = inTool ? "tool.service" : "service";
  const location = {
    file,
    section,
    lineOf: (path: readonly PropertyKey[]) => findKeyLine(text, [...section.split("."), ...path]),
  } as const;
  if (!inTool) refuseUnknownKeys(document, text, file, "The sections are [service] and [[service.database]].");
  const tool = inTool ? document["tool"] : document;
  return parseServiceConfig((isTable(tool) ? tool["service"] : undefined) ?? {}, location);
}

/**
 * Parses and checks the home's config.toml; messages use `file` as its name.
 * @throws config_invalid with file and line
 */
export function readHomeConfig(file: string, text: string): HomeConfig {
  const document = parseToml(file, text);
  refuseUnknownKeys(document, text, file, "The section is [service].");
  const lineOf = (path: readonly PropertyKey[]) => findKeyLine(text, ["service", ...path]);
  return parseHomeConfig(document["service"] ?? {}, { file, section: "service", lineOf });
}

/** Parses TOML. @throws config_invalid with line and column */
export function parseToml(file: string, text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const what = cause.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "");
    throw appError("config_invalid", {
      detail: `${file}:${cause.line}:${cause.column}: invalid TOML: ${what}.`,
      hint: `Correct line ${cause.line} of ${file}.`,
      meta: { file, line: cause.line, column: cause.column },
      cause,
    });
  }
}

/** Headers of pyproject.toml, or without their first word. */
const HEADERS: Readonly<Record<string, string>> = {
  tool: "Leave out 'tool.' here, for example: [[service.database]]",
  database: "Write [[service.database]] instead of [[database]].",
  databases: "Write [[service.database]] instead of [[databases]].",
};

/** The file belongs to us alone, so an unknown section is a typo. */
function refuseUnknownKeys(document: Record<string, unknown>, text: string, file: string, hint: string): void {
  for (const key of Object.keys(document)) {
    if (key === "service") continue;
    // indexes of headers in double brackets start at 0
    const line = findKeyLine(text, [key]) ?? findKeyLine(text, [key, 0]);
    throw appError("config_invalid", {
      detail: `${file}${line === undefined ? "" : `:${line}`}: '${key}' is not a known section; did you mean 'service'?`,
      hint: HEADERS[key] ?? hint,
      meta: { file, line },
    });
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
