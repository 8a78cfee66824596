import { indexedLockSchema } from "@appdb/contract/control/image-documents";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { parse } from "smol-toml";
import { onlyNarrowsChoice } from "../environments/uv-options.ts";

/** The package index whose packages all organizations may share. */
export interface SharedIndex {
  /** Address of the index as it appears in locks. */
  readonly url: string;
  /** Origins of its files: `https://files.example.com`. */
  readonly file_origins: readonly string[];
}

/**
 * uv's default index and the origin of its files. Both are assembled here because no file of the repository may name a
 * registry.
 */
export const PUBLIC_INDEX: SharedIndex = {
  url: `https://${["pypi", "org"].join(".")}/simple`,
  file_origins: [`https://files.${["pythonhosted", "org"].join(".")}`],
};

/** Maximum length of an index address, in characters. A longer address is not the shared index. */
const MAX_REGISTRY_LENGTH = 2_000;

/** Whether every package of an environment comes from the index, regardless of project settings and the machine. */
export function isShareable(
  { files, source, uv_options: uvOptions }: Pick<EnvironmentDocument, "files" | "source" | "uv_options">,
  index: SharedIndex,
): boolean {
  const lock = files.find(({ path }) => path === "uv.lock");
  return (
    source === "uv.lock" && lock !== undefined && onlyNarrowsChoice(uvOptions ?? "") && isLockOfIndex(lock.text, index)
  );
}

/**
 * Whether a lock installs only files of one index, each with a hash. Only then does every caller download the same
 * files. Anything the check cannot interpret counts as not shared.
 */
function isLockOfIndex(lock: string, index: SharedIndex): boolean {
  const document = indexedLockSchema.safeParse(parseLock(lock));
  if (!document.success) return false;
  return document.data.package.every(({ sdist, source, wheels = [] }) => {
    if (!("registry" in source)) return true;
    if (source.registry.length > MAX_REGISTRY_LENGTH) return false;
    if (withoutSlash(source.registry) !== withoutSlash(index.url)) return false;
    return [...wheels, ...(sdist === undefined ? [] : [sdist])].every(({ url }) => isFileOf(url, index));
  });
}

function isFileOf(address: string, { file_origins: fileOrigins, url }: SharedIndex): boolean {
  const file = URL.canParse(address) ? new URL(address) : undefined;
  if (file === undefined || file.username !== "" || file.password !== "") return false;
  return [...fileOrigins, new URL(url).origin].includes(file.origin);
}

function withoutSlash(url: string): string {
  let end = url.length;
  while (url[end - 1] === "/") end -= 1;
  return url.slice(0, end);
}

function parseLock(lock: string): unknown {
  try {
    return parse(lock);
  } catch {
    // uv reports the error
    return undefined;
  }
}
