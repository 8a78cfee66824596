import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { readIfThere, writePrivate } from "@appdb/system/control/sessions";
import { blankLinesAfter } from "../project/init-text.ts";

/**
 * Stores a server's address in the home's config.toml; all other lines stay.
 * @throws config_invalid when the file cannot be changed without losing something; home_not_writable
 */
export async function writeApiUrl(home: string, url: string): Promise<string> {
  const named = join(home, HOME_PATHS.config);
  // Users keep such files in a repository and link to them.
  const path = existsSync(named) ? realpathSync(named) : named;
  const before = readIfThere(path) ?? "";
  const after = setApiUrl(before, url);
  if (after === before) return named;
  const parser = await import("../project/read-config.ts");
  const was = parser.readHomeConfig(named, before);
  const is = readBack(() => parser.readHomeConfig(named, after));
  if (is?.api_url !== url || is.api_key !== was.api_key) {
    throw appError("config_invalid", {
      detail: `${named} has a format that the command cannot change. You are signed in, but the address was not stored.`,
      hint: `Add it there, below [service]: api_url = ${JSON.stringify(url)}`,
      meta: { file: named },
    });
  }
  writePrivate(home, path, after);
  return named;
}

/** Sets `api_url` below `[service]` by changing its line or adding one. */
export function setApiUrl(text: string, url: string): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const line = `api_url = ${JSON.stringify(url)}`;
  const lines = text.split(/\r?\n/);
  const header = lines.findIndex((each) => /^\s*\[\s*service\s*\]\s*(#.*)?$/.test(each));
  if (header < 0) {
    return `${text}${blankLinesAfter(text, newline)}[service]${newline}${line}${newline}`;
  }
  const next = lines.findIndex((each, index) => index > header && /^\s*\[/.test(each));
  const end = next < 0 ? lines.length : next;
  const at = lines.findIndex((each, index) => index > header && index < end && /^\s*api_url\s*=/.test(each));
  if (at < 0) lines.splice(header + 1, 0, line);
  // A comment after the value is kept.
  else lines[at] = (lines[at] ?? "").replace(/^(\s*)api_url\s*=\s*("[^"]*"|'[^']*')/, (_, indent) => indent + line);
  return lines.join(newline);
}

function readBack<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // The caller reports that the file cannot be changed.
    return undefined;
  }
}
