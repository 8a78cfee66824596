import { appError } from "@appdb/contract/errors";
import { findInlineMembers, findTomlStatements, NoToml, type TomlStatement } from "./toml-statements.ts";

const SECTION = ["tool", "service"];
/** Parts of a pyproject.toml that affect an environment. */
const PARTS = [
  ...["name", "version", "requires-python", "dependencies", "optional-dependencies", "dynamic"].map((key) => [
    "project",
    key,
  ]),
  ["build-system"],
  ["dependency-groups"],
  ["tool", "uv"],
];

/**
 * Removes `[tool.service]` and its subtables from a pyproject.toml, in every TOML spelling. All other bytes are kept.
 * Comments between two headers belong to the first one, so commented-out keys are removed too.
 * @throws config_invalid for invalid TOML
 */
export function stripToolService(text: string): string {
  let output = "";
  let at = 0;
  let isInside = false;
  for (const statement of readStatements(text)) {
    if (statement.kind === "pair") {
      if (isInside) continue;
      const cut = findCut(text, statement);
      if (cut === undefined) continue;
      output += text.slice(at, cut.start) + cut.instead;
      at = cut.end;
      continue;
    }
    const wasInside = isInside;
    isInside = startsWith(statement.path, SECTION);
    if (isInside && !wasInside) output += text.slice(at, statement.start);
    if (!isInside && wasInside) at = statement.start;
  }
  return isInside ? output : output + text.slice(at);
}

/**
 * Extracts the parts of a pyproject.toml that affect an environment: the project's name, version and dependencies, its
 * groups and `[tool.uv]`. Other changes, such as linter settings or comments, do not affect it.
 * @throws config_invalid for invalid TOML
 */
export function environmentPart(pyproject: string): string {
  const text = stripToolService(pyproject);
  const lines: string[] = [];
  let header: string | undefined;
  for (const { kind, path, start, value_end: valueEnd, value_start: valueStart } of readStatements(text)) {
    if (kind !== "pair") {
      header = text.slice(valueStart, valueEnd);
      // an empty table of uv may be an element of an array
      if (!startsWith(path, ["tool", "uv"])) continue;
    } else if (!PARTS.some((part) => startsWith(path, part) || startsWith(part, path))) continue;
    if (header !== undefined) lines.push(header);
    header = undefined;
    if (kind === "pair") lines.push(text.slice(start, valueEnd).trim());
  }
  return lines.map((line) => `${line.replaceAll("\r\n", "\n")}\n`).join("");
}

interface Cut {
  readonly start: number;
  readonly end: number;
  readonly instead: string;
}

function findCut(text: string, statement: TomlStatement): Cut | undefined {
  const { path, value_end: valueEnd, value_start: valueStart } = statement;
  if (startsWith(path, SECTION)) return { start: statement.start, end: statement.end, instead: "" };
  if (!startsWith(SECTION, path)) return undefined;
  const instead = cutMembers(text, valueStart, valueEnd, path);
  return instead === undefined ? undefined : { start: valueStart, end: valueEnd, instead };
}

/** Removes the members of our section from an inline table. Undefined when it has none. */
function cutMembers(text: string, start: number, end: number, table: readonly string[]): string | undefined {
  const members = findInlineMembers(text, start) ?? [];
  let isChanged = false;
  let output = "";
  let last: number | undefined;
  for (const [index, member] of members.entries()) {
    const path = [...table, ...member.key];
    if (startsWith(path, SECTION)) {
      isChanged = true;
      continue;
    }
    const instead = startsWith(SECTION, path) ? cutMembers(text, member.value_start, member.end, path) : undefined;
    if (instead !== undefined) isChanged = true;
    const before =
      last === undefined ? text.slice(start, members[0]?.start) : text.slice(members[index - 1]?.end, member.start);
    output +=
      before +
      (instead === undefined
        ? text.slice(member.start, member.end)
        : text.slice(member.start, member.value_start) + instead);
    last = index;
  }
  if (!isChanged) return undefined;
  return last === undefined ? "{}" : output + text.slice(members.at(-1)?.end, end);
}

function readStatements(text: string): TomlStatement[] {
  try {
    return findTomlStatements(text);
  } catch (cause) {
    if (!(cause instanceof NoToml)) throw cause;
    const line = text.slice(0, cause.at).split("\n").length;
    throw appError("config_invalid", {
      detail: `pyproject.toml:${line}: invalid TOML.`,
      hint: `Correct line ${line} of pyproject.toml.`,
      meta: { file: "pyproject.toml", line },
      cause,
    });
  }
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.length <= path.length && start.every((part, index) => path[index] === part);
}
