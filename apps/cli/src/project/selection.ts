import type { DatabaseEntry } from "@appdb/contract/service-toml";
import { type IgnoreRules, noRules, rebasePattern } from "./ignore-rules.ts";

/** Of no use where an application runs, and often more than all else together. */
const NEVER_ENTERED: ReadonlySet<string> = new Set([".git", "__pycache__", "node_modules", ".service"]);
/** A folder with one of these is an environment of Python packages. */
const ENVIRONMENT_MARKS = ["pyvenv.cfg", "conda-meta"];
/** What the image is made from. */
export const ENVIRONMENT_FILES = ["uv.lock", "requirements.txt", "pyproject.toml", ".python-version"] as const;

/** Names of files that hold passwords and keys; docs/project-files.md lists them. A `*` stands for any letters, case is nothing. */
export const SECRET_NAMES = [
  ".env*",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "*.jks",
  "*.keystore",
  "*.ppk",
  "id_rsa*",
  "id_dsa*",
  "id_ecdsa*",
  "id_ed25519*",
  ".netrc",
  "_netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".htpasswd",
  ".git-credentials",
  "credentials",
  "credentials*.json",
  "client_secret*.json",
  "service-account*.json",
  "service_account*.json",
  "secrets.toml",
  "secrets.json",
  "secrets.yaml",
  "secrets.yml",
] as const;
/** These say which variables there are, and no value. */
const EXAMPLES = /^\.env\.(example|sample|template|dist|defaults)$/i;
const SECRETS = SECRET_NAMES.map((name) => new RegExp(`^${name.replace(/[.]/g, "\\.").replaceAll("*", ".*")}$`, "i"));

export type Verdict = "take" | "leave" | "secret";

/** Which files of a project travel; knows patterns and names, no disk. */
export interface Selector {
  /** A file or link; `is_ignored` says whether git would ignore it. `secret` is one that would travel if its name were another. */
  judge(path: string, isIgnored: boolean): Verdict;
  /** Whether there may be something in a folder that travels. `names` are the names in it. */
  enters(path: string, isIgnored: boolean, names: readonly string[]): boolean;
}

/** The entry's `include`, `exclude` and `include_only` as decisions. */
export function createSelector(entry: Pick<DatabaseEntry, "include" | "exclude" | "include_only">): Selector {
  const excluded = noRules().with("", entry.exclude ?? []);
  const wished = entry.include_only ?? entry.include ?? [];
  const included = noRules().with("", wished);
  const named = wished.flatMap(namingRules);
  const isWanted = (path: string, isIgnored: boolean) =>
    included.match(path) || (entry.include_only === undefined && !isIgnored && !excluded.match(path));
  return {
    judge: (path, isIgnored) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      // our own configuration is read where the command runs; the others may be links, and .git a file
      if (name === "service.toml" || NEVER_ENTERED.has(name)) return "leave";
      if ((ENVIRONMENT_FILES as readonly string[]).includes(path)) return "take";
      if (!isWanted(path, isIgnored)) return "leave";
      if (!isSecretName(name) || named.some((rules) => rules.path.match(path) && rules.name.match(name))) return "take";
      return "secret";
    },
    enters: (path, isIgnored, names) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      if (NEVER_ENTERED.has(name) || ENVIRONMENT_MARKS.some((mark) => names.includes(mark))) return false;
      return isWanted(`${path}/`, isIgnored) || wished.some((pattern) => mayMatchBelow(pattern, path));
    },
  };
}

/** Whether a file of this name likely holds a password or a key. */
export function isSecretName(name: string): boolean {
  return !EXAMPLES.test(name) && SECRETS.some((pattern) => pattern.test(name));
}

/** A pattern that names a file itself and no mere folder or everything, as the two questions that are asked of it. */
function namingRules(pattern: string): { path: IgnoreRules; name: IgnoreRules }[] {
  const last = pattern.slice(pattern.lastIndexOf("/") + 1);
  if (pattern.startsWith("!") || !/[^*?\s]/.test(last)) return [];
  return [{ path: noRules().with("", [pattern]), name: noRules().with("", [last]) }];
}

/** Whether a pattern may match something in a folder: part by part, a part with a wildcard fits any. */
function mayMatchBelow(pattern: string, folder: string): boolean {
  const body = rebasePattern("", pattern)?.replace(/\s+$/, "") ?? "!";
  if (body.startsWith("!")) return false;
  const parts = body.replace(/\/$/, "").split("/");
  // Without a slash before its end it holds at any depth.
  if (parts.length === 1) return true;
  if (parts[0] === "") parts.shift();
  for (const [index, name] of folder.split("/").entries()) {
    const part = parts[index];
    if (part === undefined) return false;
    if (part === "**") return true;
    if (!/[*?[\\]/.test(part) && part !== name) return false;
  }
  return true;
}
