import type { DatabaseEntry } from "@appdb/contract/service-toml";
import { type IgnoreRules, noRules, rebasePattern } from "./ignore-rules.ts";

/** Folders that running applications do not need and that are often larger than everything else. */
const NEVER_ENTERED: ReadonlySet<string> = new Set([".git", "__pycache__", "node_modules", ".service"]);
/** A folder with one of these names is a Python environment. */
const ENVIRONMENT_MARKS = ["pyvenv.cfg", "conda-meta"];
/** Files that the image is built from. */
export const ENVIRONMENT_FILES = ["uv.lock", "requirements.txt", "pyproject.toml", ".python-version"] as const;

/**
 * Names of files with passwords and keys, listed in docs/project-files.md. `*` matches any characters; case does not
 * matter.
 */
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
/** These list variables without values. */
const EXAMPLES = /^\.env\.(example|sample|template|dist|defaults)$/i;
const SECRETS = SECRET_NAMES.map((name) => new RegExp(`^${name.replace(/[.]/g, "\\.").replaceAll("*", ".*")}$`, "i"));

export type Verdict = "take" | "leave" | "secret";

/** Decides which files of a project are uploaded. Uses patterns and names only, not the disk. */
export interface Selector {
  /**
   * Judges a file or link; `is_ignored` says whether git would ignore it. `secret` means that only its name prevents
   * the upload.
   */
  judge(path: string, isIgnored: boolean): Verdict;
  /** Whether a folder may contain files to upload. `names` are the names in it. */
  enters(path: string, isIgnored: boolean, names: readonly string[]): boolean;
}

/** Converts the entry's `include`, `exclude` and `include_only` to decisions. */
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
      // the command reads our configuration locally; the other names may be links, and .git may be a file
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

/** Whether a file name probably means a password or a key. */
export function isSecretName(name: string): boolean {
  return !EXAMPLES.test(name) && SECRETS.some((pattern) => pattern.test(name));
}

/** Rules for a pattern that names a file itself, not just a folder or everything. */
function namingRules(pattern: string): { path: IgnoreRules; name: IgnoreRules }[] {
  const last = pattern.slice(pattern.lastIndexOf("/") + 1);
  if (pattern.startsWith("!") || !/[^*?\s]/.test(last)) return [];
  return [{ path: noRules().with("", [pattern]), name: noRules().with("", [last]) }];
}

/**
 * Whether a pattern may match something in a folder, compared part by part. A part with a wildcard matches anything.
 */
function mayMatchBelow(pattern: string, folder: string): boolean {
  const body = rebasePattern("", pattern)?.replace(/\s+$/, "") ?? "!";
  if (body.startsWith("!")) return false;
  const parts = body.replace(/\/$/, "").split("/");
  // Without a slash before its end, it matches at any depth.
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
