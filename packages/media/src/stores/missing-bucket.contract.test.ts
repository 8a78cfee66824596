import { type ObjectStore, startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseStoreAddress, type StoreAddress } from "./media-address.ts";
import { openStore } from "./open-store.ts";

for (const cloud of ["s3", "gcs", "azure"] as const) {
  describe.skipIf(whyNoStore(cloud) !== undefined)(`a bucket of ${cloud}`, () => {
    let server: ObjectStore;
    beforeAll(async () => {
      server = await startObjectStore(cloud);
    });
    afterAll(() => server[Symbol.asyncDispose]());
    const open = (bucket: string) => {
      const place = parseStoreAddress(server.address.replace("media", bucket));
      return openStore(place as Exclude<StoreAddress, { kind: "mediafs" }>, { environment: server.environment });
    };

    test("a missing bucket has another error than a missing object", async () => {
      await using store = await open("media");
      expect(await store.head("none")).toBeUndefined();
      await expect(store.get("none")).rejects.toMatchObject({ code: "media_not_found" });
      await using missing = await open("missing-bucket");
      await expect(missing.head("none")).rejects.toMatchObject({ code: "media_store_not_found" });
      await expect(missing.get("none")).rejects.toMatchObject({ code: "media_store_not_found" });
    });
  });
}
