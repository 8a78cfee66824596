import { randomBytes } from "node:crypto";
import { type MediaStoreUnderTest, testMediaStore } from "@appdb/testkit/contracts/media-store";
import { type ObjectStore, type ObjectStoreName, startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseStoreAddress, type StoreAddress } from "./media-address.ts";
import { openStore } from "./open-store.ts";

type Environment = Readonly<Record<string, string>>;

interface Cloud {
  readonly name: ObjectStoreName;
  readonly signing: MediaStoreUnderTest["signing"];
  /** The environment with another secret; undefined where the server checks none. */
  deny(environment: Environment, hidden: string): Environment | undefined;
  /** The environment with the address of a server that is not there. */
  lose(environment: Environment): Environment;
}

const NOWHERE = "http://127.0.0.1:9";
const CLOUDS: readonly Cloud[] = [
  {
    name: "s3",
    signing: "checked",
    deny: (environment, hidden) => ({ ...environment, AWS_SECRET_ACCESS_KEY: hidden }),
    lose: (environment) => ({ ...environment, AWS_ENDPOINT_URL: NOWHERE }),
  },
  {
    name: "gcs",
    signing: "unchecked",
    deny: () => undefined,
    lose: (environment) => ({ ...environment, STORAGE_EMULATOR_HOST: NOWHERE }),
  },
  {
    name: "azure",
    signing: "checked",
    deny: ({ AZURE_STORAGE_CONNECTION_STRING: text = "" }, hidden) => ({
      AZURE_STORAGE_CONNECTION_STRING: text.replace(/AccountKey=[^;]*/, `AccountKey=${hidden}`),
    }),
    lose: ({ AZURE_STORAGE_CONNECTION_STRING: text = "" }) => ({
      AZURE_STORAGE_CONNECTION_STRING: text.replace(/127\.0\.0\.1:\d+/, "127.0.0.1:9"),
    }),
  },
];

for (const cloud of CLOUDS) {
  describe.skipIf(whyNoStore(cloud.name) !== undefined)(cloud.name, () => testCloud(cloud));
}

function testCloud(cloud: Cloud): void {
  let server: ObjectStore;
  beforeAll(async () => {
    server = await startObjectStore(cloud.name);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const open = (address: string, environment: Environment = server.environment) =>
    openStore(parseStoreAddress(address) as Exclude<StoreAddress, { kind: "mediafs" }>, { environment });

  testMediaStore({
    name: cloud.name,
    signing: cloud.signing,
    open: () => open(`${server.address}/${randomBytes(6).toString("hex")}`),
    async openDenied(hidden) {
      const environment = cloud.deny(server.environment, hidden);
      return environment === undefined ? undefined : open(server.address, environment);
    },
    openMissing: () => open(server.address.replace("media", "missing-bucket")),
    openUnreachable: () => open(server.address, cloud.lose(server.environment)),
  });

  if (cloud.name === "s3") {
    test("an upload that a killed process left is ended when it is old, below the store's prefix only", async () => {
      const begin = async (Key: string) => {
        const { S3Client, CreateMultipartUploadCommand } = await import("@aws-sdk/client-s3");
        const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = server.environment;
        const client = new S3Client({
          region: "us-east-1",
          endpoint: server.environment.AWS_ENDPOINT_URL ?? "",
          forcePathStyle: true,
          credentials: { accessKeyId, secretAccessKey },
        });
        await client.send(new CreateMultipartUploadCommand({ Bucket: "media", Key }));
        client.destroy();
      };
      for (const key of ["left/a", "left/b", "other/a"]) await begin(key);
      await using store = await open(`${server.address}/left`);
      await using other = await open(`${server.address}/other`);
      const later = Date.now() + 60_000;
      expect(await store.endUploads?.(Date.now() - 60_000)).toBe(0);
      expect([await store.endUploads?.(later), await store.endUploads?.(later)]).toEqual([2, 0]);
      expect(await other.endUploads?.(later)).toBe(1);
    });
  }
}
