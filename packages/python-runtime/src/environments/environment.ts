import { createHash } from "node:crypto";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";

/** Increase it when the same document must produce another image. All images are then rebuilt. */
export const BUILDER_VERSION = "1";

/** Differences between two environments, for display. */
export interface EnvironmentDiff {
  /** `uv.lock`, `python_version`, `libs/foo/`. */
  readonly parts: readonly string[];
  /** `uv.lock: + iniconfig 2.3.1`, `python_version 3.11 -> 3.12`. */
  readonly lines: readonly string[];
}

/** Whether the base library is enough, so that nothing has to be built. */
export function isBaseEnvironment(document: EnvironmentDocument): boolean {
  return document.source === null && document.python_version === null && document.system_packages.length === 0;
}

/**
 * Hash that names the image of an environment: SHA-256 (hex) of its canonical JSON and the builder's version. Line
 * ends, the order of files and system packages, and spaces around options do not affect it.
 */
export function hashEnvironment(document: EnvironmentDocument, builderVersion: string): string {
  const {
    files,
    python_version: pythonVersion,
    source,
    system_packages: systemPackages,
    uv_options: uvOptions,
  } = canonical(document);
  // arrays keep a stable order on every machine
  const parts = [
    builderVersion,
    source,
    pythonVersion,
    systemPackages,
    uvOptions,
    files.map((file) => [file.path, file.text]),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/**
 * Describes the changes of an environment; empty when both hashes are equal. `before` is null for a first environment.
 */
export function diffEnvironment(before: EnvironmentDocument | null, after: EnvironmentDocument): EnvironmentDiff {
  const from = canonical(before ?? NONE);
  const to = canonical(after);
  const lines: [part: string, line: string][] = [];
  if (from.source !== to.source && before !== null)
    lines.push([
      "source",
      `packages from ${from.source ?? "the base library alone"} -> ${to.source ?? "the base library alone"}`,
    ]);
  if (from.python_version !== to.python_version)
    lines.push([
      "python_version",
      `python_version ${from.python_version ?? "newest"} -> ${to.python_version ?? "newest"}`,
    ]);
  for (const line of diffLines(from.system_packages, to.system_packages))
    lines.push(["system_packages", `system_packages: ${line}`]);
  if (from.uv_options !== to.uv_options)
    lines.push(["uv_options", `uv_options ${quote(from.uv_options)} -> ${quote(to.uv_options)}`]);
  const texts = new Map(from.files.map((file) => [file.path, file.text]));
  const later = new Map(to.files.map((file) => [file.path, file.text]));
  const paths = new Set([...texts.keys(), ...later.keys()]);
  for (const path of [...paths].sort(byText)) {
    for (const line of diffFile(path, texts.get(path) ?? "", later.get(path) ?? ""))
      lines.push([path, `${path}: ${line}`]);
  }
  return { parts: [...new Set(lines.map(([part]) => part))], lines: lines.map(([, line]) => line) };
}

const NONE: EnvironmentDocument = {
  source: null,
  files: [],
  python_version: null,
  system_packages: [],
  uv_options: null,
};

function canonical(document: EnvironmentDocument): EnvironmentDocument {
  const options = document.uv_options?.trim().replace(/\s+/g, " ") ?? "";
  return {
    source: document.source,
    files: document.files
      .map(({ path, text }) => ({ path, text: text.replace(/\r\n?/g, "\n") }))
      .sort((a, b) => byText(a.path, b.path)),
    python_version: document.python_version,
    system_packages: [...new Set(document.system_packages)].sort(byText),
    uv_options: options === "" ? null : options,
  };
}

function diffFile(path: string, before: string, after: string): string[] {
  if (before === after) return [];
  if (path === "uv.lock") {
    const packages = diffVersions(readLockedVersions(before), readLockedVersions(after));
    return packages.length === 0 ? ["changed, the versions of its packages did not"] : packages;
  }
  if (path.endsWith("/")) return diffVersions(readListing(before), readListing(after), () => "");
  const lines = diffLines(meaningfulLines(before), meaningfulLines(after));
  return lines.length === 0 ? ["its lines are in another order"] : lines;
}

/** Removed and added lines, with repetitions. */
function diffLines(before: readonly string[], after: readonly string[]): string[] {
  return [...without(before, after).map((line) => `- ${line}`), ...without(after, before).map((line) => `+ ${line}`)];
}

function without(lines: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0;
    if (count > 0) counts.set(line, count - 1);
    return count === 0;
  });
}

function diffVersions(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  show = (version: string) => ` ${version}`,
): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort(byText);
  return names.flatMap((name) => {
    const [from, to] = [before.get(name), after.get(name)];
    if (from === to) return [];
    if (from === undefined) return [`+ ${name}${show(to ?? "")}`];
    if (to === undefined) return [`- ${name}${show(from)}`];
    return [show(to) === "" ? `~ ${name}` : `~ ${name}${show(from)} ->${show(to)}`];
  });
}

/** Names and versions in a uv lock. Several versions of one name are listed together. */
function readLockedVersions(lock: string): Map<string, string> {
  const versions = new Map<string, string[]>();
  for (const block of lock.split(/^\[\[package\]\]$/m).slice(1)) {
    const name = /^name = "([^"]*)"/m.exec(block)?.[1];
    if (name === undefined) continue;
    const version = /^version = "([^"]*)"/m.exec(block)?.[1] ?? "(no version)";
    const same = versions.get(name);
    if (same === undefined) versions.set(name, [version]);
    else same.push(version);
  }
  return new Map([...versions].map(([name, all]) => [name, all.join(", ")]));
}

function readListing(text: string): Map<string, string> {
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(lines.map((line) => [line.slice(line.indexOf(" ") + 1), line.slice(0, line.indexOf(" "))]));
}

function meaningfulLines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

function quote(text: string | null): string {
  return text === null ? "none" : JSON.stringify(text);
}

/** Compares by code units, which gives the same order on every machine. */
function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
