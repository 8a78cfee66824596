import type { BlobStore } from "@appdb/system/blobs/blob-store";
import type { ServerConfig } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { type ControlRoutes, recheckCaller } from "../../requests/checked-route.ts";
import { findMissing } from "../../storage/blob-store.ts";
import { uploadBlobs } from "./upload-blobs.ts";

export interface BlobRouteDeps {
  readonly db: ControlDatabase;
  readonly blobs: BlobStore;
  readonly config: Pick<ServerConfig, "home" | "pods" | "quotas">;
}

export function addBlobRoutes(routes: ControlRoutes, deps: BlobRouteDeps): void {
  const { db } = deps;
  routes.add("blobMissing", async ({ org, body }) => ({ missing: await findMissing(db, org.id, body.digests) }));
  routes.add("blobUpload", async ({ org, principal, request }) => {
    const recheck = () => recheckCaller(db, { principal, org, permission: "database.update" });
    return await uploadBlobs({ ...deps, recheck }, org.id, request.raw, request.headers["content-encoding"]);
  });
}
