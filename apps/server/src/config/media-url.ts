import { readFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { printStoreAddress } from "@appdb/media/stores/media-address";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { SERVER_PATHS, type ServerConfig } from "./config.ts";

/**
 * Records the bucket that has files of this home's databases, from its first start with one. A start with another one, or
 * without one, would not find these files. Files in the home are found with every setting.
 * @throws config_invalid
 */
export function keepMediaUrl(home: string, media: ServerConfig["media"]): void {
  const file = join(home, SERVER_PATHS.mediaUrl);
  const stored = readIfExists(() => readFileSync(file, "utf8"))?.trim();
  const given = media === undefined ? undefined : printStoreAddress(media.bucket);
  if (stored === given) return;
  if (stored === undefined) {
    writePrivateFile(file, `${given}\n`);
    return;
  }
  throw appError("config_invalid", {
    detail: `SERVICE_MEDIA_URL ${given === undefined ? "is not set" : `is ${given}`}, and files of this home's databases are in ${stored}.`,
    hint: `Set SERVICE_MEDIA_URL=${stored}. To use another place, copy all objects there first, then: rm ${file}`,
    meta: { settings: ["SERVICE_MEDIA_URL"] },
  });
}
