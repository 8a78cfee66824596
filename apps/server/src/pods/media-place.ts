import { join } from "node:path";
import { HOME_STORE, MEDIA_FOLDERS, type MediaPlace } from "@appdb/contract/media-place";
import type { CodePart, PodVolume, VolumeSource } from "@appdb/pods/driver/pod-driver";
import type { Secret } from "@appdb/system/secret";
import type { ObservedDatabase } from "../database/desired.ts";
import { OBJECTS_SOCKET } from "./database-paths.ts";
import { mediaLinkToken, objectsToken } from "./service-token.ts";

/** Files that functions are making may use this part of the database's disk, and at most so many bytes. */
const SCRATCH_SHARE = 0.25;
const SCRATCH_BYTES = 4_000_000_000;
const BYTES_PER_GB = 1024 ** 3;

/** What the application's code sees of the media of its database. */
export const MEDIA_CODE_PARTS: readonly CodePart[] = [
  { name: MEDIA_FOLDERS.home, access: "read" },
  { name: MEDIA_FOLDERS.cache, access: "read" },
  { name: MEDIA_FOLDERS.scratch, access: "write" },
];

/** What the media of a pod need besides their folder, if the operator has a bucket. */
export interface BucketAccess {
  readonly volume: PodVolume;
  readonly token: Secret;
}

export interface BucketAccessInput {
  /** Whether the operator has a bucket. */
  readonly has_bucket: boolean;
  readonly database_id: string;
  /** Of the database's pod. */
  readonly token: Secret;
  /** `PodDriver.target` */
  target(source: VolumeSource): string;
}

export function bucketAccess(input: BucketAccessInput): BucketAccess | undefined {
  const { database_id: databaseId, has_bucket: hasBucket, target, token } = input;
  if (!hasBucket) return undefined;
  const source: VolumeSource = { kind: "objects", database_id: databaseId };
  return {
    volume: { name: "objects", source, target: target(source), access: "read" },
    token: objectsToken(mediaLinkToken(token, databaseId)),
  };
}

export interface MediaPlaceInput {
  /** As the pods of the database see it. */
  readonly folder: string;
  readonly bucket: BucketAccess | undefined;
  /** `cloud://acme:main` */
  readonly uri: string;
  readonly disk_gb: number;
  readonly settings: Pick<
    ObservedDatabase["settings"],
    "db_input_media_dest" | "db_output_media_dest" | "db_media_sources"
  >;
}

/** The place of a hosted database's media, by its settings. */
export function mediaPlace({ bucket, disk_gb: diskGb, folder, settings, uri }: MediaPlaceInput): MediaPlace {
  const objects = bucket && { socket: join(bucket.volume.target, OBJECTS_SOCKET), token: bucket.token.reveal() };
  return {
    folder,
    input: settings.db_input_media_dest ?? HOME_STORE,
    output: settings.db_output_media_dest ?? HOME_STORE,
    sources: settings.db_media_sources ?? [],
    home_address: homeAddress(uri),
    ...(objects === undefined ? {} : { objects }),
    scratch_bytes: Math.min(SCRATCH_BYTES, Math.floor(diskGb * BYTES_PER_GB * SCRATCH_SHARE)),
    // Anyone who may insert a row names addresses. Targets of exports are different: the application names them.
    may_reach_private: false,
  };
}

/** The address of the media store of the database `cloud://acme:main`. */
export function homeAddress(uri: string): string {
  return `${uri.replace(/^cloud:/, "mediafs:")}/${HOME_STORE}`;
}
