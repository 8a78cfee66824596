import { bytesContent } from "@appdb/media/stores/content";
import { endAbandoned, type MediaStore } from "@appdb/media/stores/media-store";
import { openStore } from "@appdb/media/stores/open-store";
import { emptyStore, storeBelow } from "@appdb/media/stores/store-below";
import { revealAll } from "@appdb/system/secret";
import type { MediaConfig } from "../config/config-media.ts";

/** Whose objects: they are below `<organization id>/<database id>/`. */
export interface BucketPart {
  readonly org_id: string;
  readonly id: string;
}

/** The bucket of the operator, in which each database has a part. */
export interface MediaBucket extends AsyncDisposable {
  /** Maximum size of the part of a database that sets none. */
  readonly default_gb: number;
  /** The objects of one database, by the keys that it gives them. */
  open(database: BucketPart): Promise<MediaStore>;
  /** Whether it can be used: lists, and also writes. @throws AppError of the store */
  check(how: "read" | "write"): Promise<void>;
  /** Ends uploads that killed gateways left. @throws AppError of the store */
  endAbandoned(): Promise<number>;
  /** Removes the objects of a database. Safe to repeat. Returns how many. @throws AppError of the store */
  empty(database: BucketPart): Promise<number>;
}

const CHECKED = "check/written-by-the-server";

/** Opens the bucket. The SDK is loaded with the first request. */
export function openMediaBucket({ bounds, bucket, environment }: MediaConfig): MediaBucket {
  let opening: Promise<MediaStore> | undefined;
  const openWhole = () => {
    opening ??= openStore(bucket, { environment: revealAll(environment) }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const open = async ({ id, org_id: orgId }: BucketPart) => storeBelow(await openWhole(), `${orgId}/${id}/`);
  return {
    default_gb: bounds.default_gb,
    open,
    async check(how) {
      const store = await openWhole();
      await store.list({ limit: 1 });
      if (how === "read") return;
      await store.put(CHECKED, bytesContent(Buffer.from("1")), { content_type: "text/plain" });
      await store.delete([CHECKED]);
    },
    endAbandoned: async () => await endAbandoned(await openWhole()),
    empty: async (database) => await emptyStore(await open(database)),
    async [Symbol.asyncDispose]() {
      const opened = await opening?.catch(() => undefined);
      await opened?.[Symbol.asyncDispose]();
    },
  };
}
