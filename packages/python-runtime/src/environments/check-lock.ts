import {
  type LockedRequirements,
  lockRootSchema,
  type PyprojectTable,
  pyprojectSchema,
} from "@appdb/contract/python-project";
import { parse } from "smol-toml";

/** Maximum number of dependencies that are compared with the lock, all extras included. */
export const MAX_DEPENDENCIES = 5_000;
/** Maximum length of one requirement, in characters. */
export const MAX_REQUIREMENT_LENGTH = 1_000;
/** Package name at the start of a requirement. */
const NAME = /^[A-Za-z0-9._-]+/;
/** A condition that uv copies unchanged. */
const CONDITION = /^(==|>=|<=|<|>|!=)(0|[1-9]\d*)(\.(0|[1-9]\d*))*(\.\*)?$/;
const ROOT = /^source = \{ (virtual|editable) = "\." \}$/m;

/**
 * Finds proof that a uv.lock does not belong to a pyproject.toml. A build follows the lock and would miss a package
 * that was added later. Undefined when there is no proof: syntax that this check does not understand, or that uv
 * rewrites, proves nothing.
 */
export function findStaleLock(lock: string, pyproject: string): string | undefined {
  const project = readProject(pyproject);
  const block = lock.split(/^(?=\[\[package\]\]$)/m).find((text) => text.startsWith("[[package]]") && ROOT.test(text));
  const root = block === undefined ? undefined : lockRootSchema.safeParse(parseQuietly(block)).data?.package[0];
  if (project === undefined || root === undefined) return undefined;
  if (project.dynamic.some((name) => name === "dependencies" || name === "optional-dependencies")) return undefined;
  if (project.name !== undefined && nameOf(project.name) !== root.name) {
    return `it is of the project ${root.name}, and pyproject.toml is of ${nameOf(project.name)}`;
  }
  const locked = root.metadata["requires-dist"];
  const names = new Set(dependenciesOf(project).map(nameIn));
  const known = new Set(locked.map(({ name }) => name));
  const missing = [...names].find((name) => !known.has(name));
  if (missing !== undefined) return `pyproject.toml requires ${missing}, which it does not contain`;
  const left = locked.find(({ name }) => !names.has(name));
  if (left !== undefined) return `it has ${left.name}, which pyproject.toml does not ask for any more`;
  return findOtherVersion(project.dependencies, locked);
}

/** Finds what exceeds the limits in a pyproject.toml. Undefined when it is within them. */
export function findExcess(pyproject: string): string | undefined {
  const project = readProject(pyproject);
  const dependencies = project === undefined ? [] : dependenciesOf(project);
  if (dependencies.length > MAX_DEPENDENCIES) {
    return `pyproject.toml has ${dependencies.length} dependencies; the maximum is ${MAX_DEPENDENCIES}`;
  }
  const long = dependencies.find((text) => text.length > MAX_REQUIREMENT_LENGTH);
  if (long === undefined) return undefined;
  const shown = JSON.stringify(long.slice(0, 100));
  return `the requirement ${shown} has ${long.length} characters; the maximum is ${MAX_REQUIREMENT_LENGTH}`;
}

function readProject(pyproject: string): PyprojectTable | undefined {
  return pyprojectSchema.safeParse(parseQuietly(pyproject)).data?.project;
}

function dependenciesOf(project: PyprojectTable): string[] {
  return [...project.dependencies, ...Object.values(project["optional-dependencies"]).flat()];
}

function findOtherVersion(requiredNames: readonly string[], locked: LockedRequirements): string | undefined {
  const counts = new Map<string, number>();
  for (const name of requiredNames.map(nameIn)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const plainOf = new Map<string, LockedRequirements>();
  for (const one of locked) {
    if (one["marker"] !== undefined) continue;
    const same = plainOf.get(one.name);
    if (same === undefined) plainOf.set(one.name, [one]);
    else same.push(one);
  }
  for (const text of requiredNames) {
    const name = nameIn(text);
    const conditions = conditionsIn(text);
    const [found, ...others] = plainOf.get(name) ?? [];
    if (conditions === undefined || counts.get(name) !== 1 || found === undefined || others.length > 0) continue;
    // a package from outside an index has no versions
    if (Object.keys(found).some((key) => !["name", "specifier", "extras"].includes(key))) continue;
    const is = splitConditions(String(found["specifier"] ?? ""));
    const required = splitConditions(conditions);
    if (![...is, ...required].every((one) => CONDITION.test(one)) || is.join() === required.join()) continue;
    return `pyproject.toml requires ${name}${required.join(",")}, but the lock has ${name}${is.join(",")}`;
  }
  return undefined;
}

/** Normalized name at the start of a requirement. */
function nameIn(requirement: string): string {
  return nameOf(NAME.exec(requirement.trim())?.[0] ?? "");
}

/** Version conditions of a requirement. Undefined when it has more parts than name, extras and versions. */
function conditionsIn(requirement: string): string | undefined {
  const text = requirement.trim();
  const name = NAME.exec(text)?.[0] ?? "";
  if (name === "" || /^[._-]|[._-]$/.test(name)) return undefined;
  let rest = text.slice(name.length).trim();
  if (rest.startsWith("[")) rest = rest.slice(rest.indexOf("]") + 1).trim();
  if (rest.startsWith("(") && rest.endsWith(")")) rest = rest.slice(1, -1);
  return /[;@()[\]]/.test(rest) ? undefined : rest;
}

function splitConditions(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.replaceAll(/\s/g, ""))
    .filter((one) => one !== "")
    .sort();
}

/** Normalizes a package name as indexes do. */
function nameOf(written: string): string {
  return written.toLowerCase().replaceAll(/[-_.]+/g, "-");
}

function parseQuietly(text: string): unknown {
  try {
    return parse(text);
  } catch {
    // collecting and building report the error
    return undefined;
  }
}
