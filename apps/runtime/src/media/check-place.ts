import { setTimeout as sleep } from "node:timers/promises";
import { AppError, appError, toProblem } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { HOME_STORE, type MediaPlace } from "@appdb/contract/media-place";
import { INPUT_DESTINATION, OUTPUT_DESTINATION } from "@appdb/contract/media-variables";
import { declaresMedia } from "@appdb/engine/endpoints/media-routes";
import type { Logger } from "@appdb/engine/ports";
import { type CloudAddress, parseStoreAddress } from "@appdb/media/stores/media-address";
import { openStore } from "@appdb/media/stores/open-store";
import { findMissing } from "./check-destinations.ts";
import { configuredStore, openSources } from "./open-media.ts";

/** A store that takes longer is not waited for. */
const ANSWER_MS = 10_000;

export interface CheckedPlace {
  readonly manifest: Manifest;
  readonly place: MediaPlace;
  /** Credentials and endpoints of stores. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
}

/**
 * Refuses stores of a local database that a service could not use, before its running service is replaced. A store that
 * does not answer at the moment is accepted: requests without files do not need it. The command checks stores of hosted databases.
 * @throws config_invalid that names the variable and its value
 */
export async function checkMediaPlace({ env, log, manifest, place }: CheckedPlace): Promise<void> {
  if (!declaresMedia(manifest)) return;
  openSources(place, []);
  for (const [name, variable] of [
    ["input", INPUT_DESTINATION],
    ["output", OUTPUT_DESTINATION],
  ] as const) {
    const store = configuredStore(place, name);
    const address = store === HOME_STORE ? undefined : parseStoreAddress(store);
    if (address === undefined || address.kind === "mediafs") continue;
    const said = `${variable} is ${JSON.stringify(place[name])}`;
    if (address.kind === "file") refuseMissing(address.path, said);
    else await checkCloud(address, env, { said, log });
  }
}

function refuseMissing(folder: string, said: string): void {
  const [problem, hint] = findMissing(folder) ?? [];
  if (problem !== undefined) throw appError("config_invalid", { detail: `${said}, ${problem}.`, hint });
}

async function checkCloud(
  address: CloudAddress,
  env: CheckedPlace["env"],
  { log, said }: { readonly said: string; readonly log: Logger },
): Promise<void> {
  try {
    await using store = await openStore(address, { environment: env });
    const waiting = new AbortController();
    const listed = store.list({ limit: 1 }).finally(() => waiting.abort());
    // a late failure is not reported
    listed.catch(() => undefined);
    await Promise.race([listed, sleep(ANSWER_MS, undefined, { signal: waiting.signal }).catch(() => listed)]);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    const { code, detail, hint } = toProblem(cause);
    if (code === "media_unavailable") {
      log.warn({ detail }, "a media store does not answer; its service is started");
      return;
    }
    throw appError("config_invalid", { detail: `${said}. ${detail}`, hint, meta: { reason: code }, cause });
  }
}
