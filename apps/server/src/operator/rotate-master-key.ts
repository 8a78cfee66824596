import { randomBytes } from "node:crypto";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { OperatorAnswer } from "@appdb/contract/operator";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { Secret } from "@appdb/system/secret";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import { findSecret } from "../config/server-home.ts";
import { toMasterKey } from "../secrets/master-key.ts";
import { KEY_BYTES } from "../secrets/sealed-bytes.ts";

/**
 * Writes the next master key into the home, next to the current one. It is unused until the next start
 * (`takeNextMasterKey`): running programs keep their key. Before that start, a second call returns the same key.
 * @throws config_invalid when the settings contain the key, master_key_wrong when the home has none
 */
export function rotateMasterKey(config: ServerConfig): OperatorAnswer<"rotate-master-key"> {
  if (config.master_key !== undefined) {
    throw appError("config_invalid", {
      detail: "Invalid server settings: SERVICE_MASTER_KEY: contains the key, so the home's file is not used.",
      hint: "Change the setting as described in docs/secrets.md: the new key as SERVICE_MASTER_KEY, the previous one as SERVICE_MASTER_KEY_PREVIOUS.",
      meta: { settings: ["SERVICE_MASTER_KEY"] },
    });
  }
  const keyFile = join(config.home, SERVER_PATHS.masterKey);
  const current = findSecret(config.home, SERVER_PATHS.masterKey);
  if (current === undefined) {
    throw appError("master_key_wrong", {
      detail: `No master key to replace: ${keyFile} is missing.`,
      hint: "Start the server once; its first start makes a key.",
    });
  }
  const file = join(config.home, SERVER_PATHS.masterKeyNext);
  const waiting = findSecret(config.home, SERVER_PATHS.masterKeyNext);
  const next = waiting ?? new Secret(randomBytes(KEY_BYTES).toString("base64"));
  if (waiting === undefined) writePrivateFile(file, `${next.reveal()}\n`);
  return { former: toMasterKey(current).id, next: toMasterKey(next).id, file };
}

/** The keys of a starting server. */
export interface TakenMasterKey {
  readonly current: Secret | undefined;
  readonly previous: Secret | undefined;
  /** Removes the previous key's file. Called once nothing is encrypted under that key any more. */
  forgetPrevious(): void;
}

/**
 * Makes the next master key the current one, if one exists. The previous key stays in a file until everything is
 * encrypted under the new one. A kill between any two steps leaves both keys in files. If an earlier rotation left a
 * previous key, the next key waits for another start: either of the two may be in use.
 */
export function takeNextMasterKey(home: string): TakenMasterKey {
  const [current, previous, next] = [
    SERVER_PATHS.masterKey,
    SERVER_PATHS.masterKeyPrevious,
    SERVER_PATHS.masterKeyNext,
  ];
  const before = findSecret(home, current);
  const left = findSecret(home, previous);
  if (
    before !== undefined &&
    findSecret(home, next) !== undefined &&
    (left?.reveal() ?? before.reveal()) === before.reveal()
  ) {
    writePrivateFile(join(home, previous), `${before.reveal()}\n`);
    renameSync(join(home, next), join(home, current));
  }
  return {
    current: findSecret(home, current),
    previous: findSecret(home, previous),
    forgetPrevious: () => rmSync(join(home, previous), { force: true }),
  };
}
