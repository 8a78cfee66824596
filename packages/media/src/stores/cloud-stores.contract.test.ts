import { randomBytes } from "node:crypto";
import { type MediaStoreUnderTest, testMediaStore } from "@appdb/testkit/contracts/media-store";
import { type ObjectStore, type ObjectStoreName, startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import { afterAll, beforeAll, describe } from "vitest";
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
}
