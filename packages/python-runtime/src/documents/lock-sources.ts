import { indexedLockSchema } from "@appdb/contract/control/image-documents";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { parse } from "smol-toml";
import { areChoosing } from "../environments/uv-options.ts";

/** Which packages may be kept for all organizations together. */
export interface SharedIndex {
  /** Address of the index as locks name it. */
  readonly url: string;
  /** Where its files lie: `https://files.example.com`. */
  readonly file_origins: readonly string[];
}

/** The index that uv takes when nobody names one, and where its files lie; put together here, because no file of ours names a registry. */
export const PUBLIC_INDEX: SharedIndex = {
  url: `https://${["pypi", "org"].join(".")}/simple`,
  file_origins: [`https://files.${["pythonhosted", "org"].join(".")}`],
};

/** Characters of an index's address. A longer one is no address of the shared index. */
const MAX_REGISTRY_LENGTH = 2_000;

/** Whether all of an environment comes from the index, whatever the project's settings and the machine say. */
export function isShareable(
  { files, source, uv_options: uvOptions }: Pick<EnvironmentDocument, "files" | "source" | "uv_options">,
  index: SharedIndex,
): boolean {
  const lock = files.find(({ path }) => path === "uv.lock");
  return source === "uv.lock" && lock !== undefined && areChoosing(uvOptions ?? "") && isOfIndex(lock.text, index);
}

/**
 * Whether all that a lock installs are files of one index, each with its hash. Only then is what is downloaded the same for everybody who
 * asks for it. What is not understood is not the same.
 */
function isOfIndex(lock: string, index: SharedIndex): boolean {
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
    // uv says what is wrong with it
    return undefined;
  }
}
