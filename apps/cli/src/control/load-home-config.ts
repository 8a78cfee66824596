import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import type { HomeConfig } from "@appdb/contract/service-toml";
import { readIfThere } from "@appdb/system/control/sessions";

/** Reads the home's config.toml; empty when there is none. @throws config_invalid with file and line */
export async function loadHomeConfig(home: string): Promise<HomeConfig> {
  const file = join(home, HOME_PATHS.config);
  const text = readIfThere(file);
  if (text === undefined || text.trim() === "") return {};
  const parser = await import("../project/read-config.ts");
  return parser.readHomeConfig(file, text);
}
