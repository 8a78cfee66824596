import { readFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import type { HomeConfig } from "@appdb/contract/service-toml";

/** Reads the home's config.toml; empty when there is none. @throws config_invalid with file and line */
export async function loadHomeConfig(home: string): Promise<HomeConfig> {
  const file = join(home, HOME_PATHS.config);
  const text = readIfThere(file);
  if (text === undefined || text.trim() === "") return {};
  const parser = await import("../project/read-config.ts");
  return parser.readHomeConfig(file, text);
}

/** Text of a file of the home. Undefined when there is none. @throws config_invalid when it cannot be read */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw appError("config_invalid", {
      detail: `${path} cannot be read: ${message}.`,
      hint: "Make it readable for you, or set SERVICE_HOME to a folder that you own.",
      meta: { file: path },
      cause,
    });
  }
}
