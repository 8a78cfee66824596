// Puts and gets through the adapter of S3, compared with its bare SDK on the same server. Without the server that
// scripts/object-stores.mjs installs, nothing is measured.
import { randomBytes } from "node:crypto";
import { bytesContent } from "@appdb/media/stores/content";
import { parseStoreAddress } from "@appdb/media/stores/media-address";
import { openStore } from "@appdb/media/stores/open-store";
import { startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";

const BYTES = 1_000_000;
const AT_ONCE = 8;
const OPTIONS = { content_type: "video/mp4" } as const;

/** Measures objects per second that are put and read again. */
export async function measureObjectStores(bench: Bench): Promise<Measure[]> {
  if (whyNoStore("s3") !== undefined) return [];
  await using server = await startObjectStore("s3");
  const { address, environment } = server;
  const place = parseStoreAddress(`${address}/ours`);
  if (place.kind === "mediafs") throw new TypeError("The server of S3 has an address of another kind.");
  await using store = await openStore(place, { environment });
  const client = new S3Client({
    region: environment.AWS_REGION ?? "us-east-1",
    endpoint: environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL ?? "",
    forcePathStyle: true,
    credentials: {
      accessKeyId: environment.AWS_ACCESS_KEY_ID ?? "",
      secretAccessKey: environment.AWS_SECRET_ACCESS_KEY ?? "",
    },
  });
  const Bucket = new URL(address).hostname;
  const content = randomBytes(BYTES);
  const withAdapter = async (key: string): Promise<void> => {
    await store.put(key, bytesContent(content), OPTIONS);
    await drain((await store.get(key)).body);
  };
  const withSdk = async (key: string): Promise<void> => {
    const Key = `bare/${key}`;
    await client.send(new PutObjectCommand({ Bucket, Key, Body: content, ContentType: OPTIONS.content_type }));
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    await drain(Body as AsyncIterable<Uint8Array>);
  };
  const [ours, limit]: [number[], number[]] = [[], []];
  try {
    for (let at = 1; at <= bench.runs; at += 1) {
      bench.say(`run ${at} of ${bench.runs}, object stores`);
      limit.push(await rate(bench.seconds, (number) => withSdk(`${at}-${number}`)));
      ours.push(await rate(bench.seconds, (number) => withAdapter(`${at}-${number}`)));
    }
  } finally {
    client.destroy();
  }
  const name = `put and get of 1 MB through the adapter of S3, ${AT_ONCE} at once, against the bare SDK`;
  return [{ name, unit: "/s", ours, limit, reach: { at_least: 0.85 } }];
}

async function rate(seconds: number, work: (number: number) => Promise<void>): Promise<number> {
  let count = 0;
  let next = 0;
  const began = performance.now();
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    while (performance.now() - began < seconds * 1_000) {
      await work(next++);
      count += 1;
    }
  });
  await Promise.all(lanes);
  return count / ((performance.now() - began) / 1_000);
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  let bytes = 0;
  for await (const piece of body) bytes += piece.length;
  if (bytes !== BYTES) throw new Error(`An object had ${bytes} of ${BYTES} bytes.`);
}
