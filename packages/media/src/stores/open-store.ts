import { openDiskStore } from "./disk-store.ts";
import type { StoreAddress } from "./media-address.ts";
import type { MediaStore } from "./media-store.ts";
import type { StoreSettings } from "./settings.ts";

/**
 * Opens the store of an address; the SDK of its cloud is loaded then, and no request is sent yet. A `mediafs` address is
 * opened by its control plane and not here.
 */
export async function openStore(
  place: Exclude<StoreAddress, { kind: "mediafs" }>,
  settings: StoreSettings,
): Promise<MediaStore> {
  switch (place.kind) {
    case "file":
      return openDiskStore(place.path);
    case "s3":
      return (await import("./s3-store.ts")).openS3Store(place, settings);
    case "gs":
      return (await import("./gcs-store.ts")).openGcsStore(place, settings);
    case "azure":
      return (await import("./azure-store.ts")).openAzureStore(place, settings);
  }
}
