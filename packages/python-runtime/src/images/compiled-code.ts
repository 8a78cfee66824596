import { type Dirent, realpathSync } from "node:fs";
import { lchown, link, lstat, mkdir, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isRealFolder } from "./image-folder.ts";

const AT_ONCE = 16;
const COMPILED = "__pycache__";

/**
 * Reuses compiled code of previous environments with the same Python for modules of a new one. Compiling takes much
 * longer than installing, and environments are read-only at run time. Modules count as identical only when both are the
 * same file (uv hard-links them from its cache). Links are not followed, because a build may have created them. Returns
 * the modules that remain uncompiled.
 */
export async function takeCompiled(formers: readonly string[], sitePackages: string): Promise<string[]> {
  const waiting = [""];
  const missing: string[] = [];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const here = part;
    const entries = await readdir(join(sitePackages, here), { withFileTypes: true });
    for (const { name } of entries.filter((entry) => entry.isDirectory() && entry.name !== COMPILED))
      waiting.push(join(here, name));
    const sources = entries
      .filter((entry) => entry.isFile() && entry.name.endsWith(".py"))
      .map(({ name }) => name.slice(0, -3));
    const remaining = new Set(sources);
    for (const previousFolder of formers) {
      if (remaining.size === 0) break;
      if (isSelf(previousFolder, here))
        await takeFolder(join(previousFolder, here), join(sitePackages, here), remaining);
    }
    for (const name of remaining) missing.push(join(sitePackages, here, `${name}.py`));
  }
  return missing;
}

/** Removes the modules that it finds from `remaining`. */
async function takeFolder(previousFolder: string, folder: string, remaining: Set<string>): Promise<void> {
  if (!isRealFolder(join(previousFolder, COMPILED))) return;
  const compiled = (await readdir(join(previousFolder, COMPILED), { withFileTypes: true })).filter((entry) => {
    return entry.isFile() && entry.name.endsWith(".pyc") && remaining.has(moduleOf(entry));
  });
  if (compiled.length === 0) return;
  const target = join(folder, COMPILED);
  if (!(await makeFolder(target))) return;
  for (let at = 0; at < compiled.length; at += AT_ONCE) {
    await Promise.all(
      compiled.slice(at, at + AT_ONCE).map(async (entry) => {
        const source = `${moduleOf(entry)}.py`;
        if (!(await isSameInode(join(previousFolder, source), join(folder, source)))) return;
        await linkOnce(join(previousFolder, COMPILED, entry.name), join(target, entry.name));
        remaining.delete(moduleOf(entry));
      }),
    );
  }
}

/** Whether a part of a folder exists with no link on the way. */
function isSelf(folder: string, part: string): boolean {
  try {
    return realpathSync(join(folder, part)) === join(realpathSync(folder), part);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

/** Creates a folder with the owner of its parent, who writes into it later. False when something else has the name. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    if (process.getuid?.() === 0) {
      const { gid, uid } = await lstat(dirname(path));
      await lchown(path, uid, gid);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return isRealFolder(path);
}

/** `x.cpython-312.pyc` -> `x` */
function moduleOf(entry: Dirent): string {
  return entry.name.split(".", 1)[0] ?? "";
}

async function isSameInode(a: string, b: string): Promise<boolean> {
  try {
    const [one, other] = await Promise.all([lstat(a), lstat(b)]);
    return one.ino === other.ino && one.dev === other.dev;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function linkOnce(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    // a package may ship compiled code
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
