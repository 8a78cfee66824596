import { HOME_STORE, type MediaPlace } from "@appdb/contract/media-place";
import type { ObservedDatabase } from "../database/desired.ts";

/** The place of a hosted database's media, by its settings. `folder`: as its pods see it. */
export function mediaPlace(
  folder: string,
  settings: Pick<ObservedDatabase["settings"], "db_input_media_dest" | "db_output_media_dest">,
  mayReachPrivate: boolean,
): MediaPlace {
  return {
    folder,
    input: settings.db_input_media_dest ?? HOME_STORE,
    output: settings.db_output_media_dest ?? HOME_STORE,
    may_reach_private: mayReachPrivate,
  };
}
