import { findLinkOnWay, linksOf, listTreePart, type TreeEntry } from "@appdb/contract/control/project-tree";
import { type AppError, appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { localPath, readRequirementLines } from "./requirement-lines.ts";
import { environmentPart } from "./strip-tool-service.ts";
import { findOptionPaths, findOwnOption } from "./uv-options.ts";

export interface CollectEnvironmentInput {
  /** Files of the project as they are uploaded. Their digests identify the parts that are built into the image. */
  readonly entries: readonly TreeEntry[];
  /** Reads the text of a project file, uploaded or not. Undefined when it does not exist. */
  readText(path: string): Promise<string | undefined>;
  /** `python_version` of the database's entry in service.toml. */
  readonly python_version?: string | undefined;
  readonly system_packages?: readonly string[] | undefined;
  readonly uv_options?: string | undefined;
}

/**
 * Collects the inputs of a project's image: `uv.lock`, otherwise `requirements.txt`, with the files they name, the
 * Python version of the entry or `.python-version`, and the entry's packages and options. Keeps only the parts of each
 * text that affect an environment. Refuses inputs that cannot be built on another machine.
 * @throws environment_refused with file and line; config_invalid for invalid TOML in pyproject.toml
 */
export async function collectEnvironment(input: CollectEnvironmentInput): Promise<EnvironmentDocument> {
  const found = new Found(input);
  const source = await collectPackages(input, found);
  const uvOptions = source === null ? "" : (input.uv_options ?? "").trim();
  const own = findOwnOption(uvOptions);
  if (own !== undefined) {
    throw refused("uv_options", `the build sets ${own} itself`, `Remove ${own} from uv_options.`);
  }
  for (const { path, kind } of findOptionPaths(uvOptions)) await collectNamed(found, path, kind, "uv_options");
  return {
    source,
    files: found.files(),
    python_version: input.python_version ?? (await readPythonVersion(input)),
    system_packages: [...new Set(input.system_packages ?? [])].sort(),
    uv_options: uvOptions === "" ? null : uvOptions,
  };
}

async function collectPackages(input: CollectEnvironmentInput, found: Found): Promise<EnvironmentDocument["source"]> {
  const lock = await input.readText("uv.lock");
  if (lock !== undefined) {
    const pyproject = await input.readText("pyproject.toml");
    if (pyproject === undefined) {
      throw refused(
        "uv.lock",
        "there is no pyproject.toml in the same folder",
        "Write one, or delete uv.lock: uv init --bare && uv lock",
      );
    }
    found.text("uv.lock", lock.replaceAll("\r\n", "\n"));
    found.text("pyproject.toml", environmentPart(pyproject));
    const settings = await input.readText("uv.toml");
    if (settings !== undefined) found.text("uv.toml", settings.replaceAll("\r\n", "\n"));
    await collectLocked(lock, input, found);
    return "uv.lock";
  }
  if ((await input.readText("requirements.txt")) === undefined) return null;
  await collectRequirements("requirements.txt", input, found);
  return "requirements.txt";
}

/** Collects the project parts that a lock installs: `source = { directory = "libs/foo" }`. */
async function collectLocked(lock: string, input: CollectEnvironmentInput, found: Found): Promise<void> {
  for (const [index, line] of lock.split("\n").entries()) {
    const [, kind, written = ""] = /^source = \{ (\w+) = "((?:[^"\\]|\\.)*)"/.exec(line) ?? [];
    if (kind === undefined || kind === "git" || kind === "url") continue;
    if (kind === "registry" && /^https?:\/\//i.test(written)) continue;
    const path = resolveInside(written, "", `uv.lock:${index + 1}`);
    if (kind === "virtual") {
      const member = path === "" ? undefined : await input.readText(`${path}/pyproject.toml`);
      if (member !== undefined) found.text(`${path}/pyproject.toml`, environmentPart(member));
    } else if (path !== "") found.listing(path, `uv.lock:${index + 1}`);
  }
}

/** Collects a requirements file and those that it includes, each once. Keeps lines as uv reads them. */
async function collectRequirements(path: string, input: CollectEnvironmentInput, found: Found): Promise<void> {
  const text = await input.readText(path);
  if (text === undefined || found.has(path)) return;
  const kept: string[] = [];
  // recorded before its includes, which may include it again
  found.text(path, "");
  for (const { kind, line, text: requirement, value } of readRequirementLines(text)) {
    const where = `${path}:${line}`;
    if (kind === "file") await collectNamed(found, value, "file", where, folderOf(path));
    else if (kind === "find-links") await collectNamed(found, value, "folder", where, folderOf(path));
    else if (kind !== "option") collectLocal(found, value, where);
    // an editable package would be read from project files, which change without a build
    kept.push(kind === "editable" ? value : requirement);
  }
  found.text(path, kept.map((line) => `${line}\n`).join(""));
}

function collectLocal(found: Found, requirement: string, where: string): void {
  const written = localPath(requirement);
  if (written === undefined) return;
  const path = resolveInside(written, "", where);
  if (path === "") {
    const hint =
      "List the packages that it needs instead, or use uv.lock. Its files are uploaded and importable without being installed.";
    throw refused(where, `'${written}' is the project itself`, hint);
  }
  found.listing(path, where);
}

/** Collects a requirements file or a package folder that an option names. */
async function collectNamed(
  found: Found,
  written: string,
  kind: "file" | "folder",
  where: string,
  folder = "",
): Promise<void> {
  if (/^https?:\/\//i.test(written)) return;
  const path = resolveInside(written, folder, where);
  if (kind === "folder") return found.listing(path, where);
  if ((await found.input.readText(path)) === undefined) {
    throw refused(where, `there is no file ${written} in the project`, `Create ${path}, or take the line out.`);
  }
  if (path.endsWith(".toml")) found.text(path, environmentPart((await found.input.readText(path)) ?? ""));
  else await collectRequirements(path, found.input, found);
}

/** Files found so far, by path. */
class Found {
  readonly input: CollectEnvironmentInput;
  readonly #texts = new Map<string, string>();
  readonly #links: ReadonlySet<string>;

  constructor(input: CollectEnvironmentInput) {
    this.input = input;
    this.#links = linksOf(input.entries);
  }

  has(path: string): boolean {
    return this.#texts.has(path);
  }

  text(path: string, text: string): void {
    this.#texts.set(path, text);
  }

  /** Adds the files at a project path to the image. */
  listing(path: string, where: string): void {
    const { entries } = this.input;
    const link = findLinkOnWay(this.#links, path);
    if (link !== undefined) {
      throw refused(where, `'${link}' is a link`, `Name the folder or file that ${link} leads to by its own path.`);
    }
    const text = listTreePart(entries, path);
    if (text === undefined) {
      throw refused(
        where,
        `there is no '${path}' among the project's files`,
        `Create ${path}, or let it be uploaded: name it by include.`,
      );
    }
    this.#texts.set(`${path}/`, text);
  }

  files(): { path: string; text: string }[] {
    return [...this.#texts].map(([path, text]) => ({ path, text })).sort((a, b) => (a.path < b.path ? -1 : 1));
  }
}

async function readPythonVersion({ readText }: CollectEnvironmentInput): Promise<string | null> {
  const text = await readText(".python-version");
  const specifier = text
    ?.split(/\r?\n/)
    .map((line) => line.trim())
    .find((line) => line !== "" && !line.startsWith("#"));
  if (specifier === undefined) return null;
  const version = /^(?:cpython[-@]?|python)?(3\.\d{1,2}(?:\.\d{1,2})?)$/.exec(specifier)?.[1];
  if (version !== undefined) return version;
  throw refused(
    ".python-version",
    `'${specifier}' is not a version of Python such as 3.12 or 3.12.8`,
    "Write one: echo 3.12 > .python-version",
  );
}

/** Resolves a path as written in a file of `folder` to a path from the project's root. */
function resolveInside(written: string, folder: string, where: string): string {
  const outside = (what: string) =>
    refused(
      where,
      `'${written}' ${what}`,
      "Move it into the project and name it by its path from there, such as ./libs/thing.",
    );
  if (/^file:/i.test(written)) throw outside("is a file: URL, which differs on another machine");
  if (/^([/\\~]|[A-Za-z]:)/.test(written) || written.includes("${")) throw outside("is not a path within the project");
  const at = folder === "" ? [] : folder.split("/");
  for (const part of written.split(/[/\\]/)) {
    if (part === "..") {
      if (at.pop() === undefined) throw outside("is outside the project");
    } else if (part !== "." && part !== "") at.push(part);
  }
  return at.join("/");
}

function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

function refused(where: string, what: string, hint: string): AppError {
  return appError("environment_refused", { detail: `${where}: ${what}.`, hint, meta: { where } });
}
