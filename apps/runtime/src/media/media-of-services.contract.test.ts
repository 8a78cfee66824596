import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { HOME_PATHS } from "@appdb/contract/home";
import { MEDIA_FOLDERS } from "@appdb/contract/media-place";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findService, serveExample } from "../testing/example-service.ts";
import { openTestHome, waitFor } from "../testing/test-home.ts";

const TIMEOUT = 180_000;
const APP = `
import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Photo(Base, name="photos"):
    id = db.Column(type=db.Int, primary_key=True)
    picture: db.Image


photos = Router(name="ingest")
photos.add_insert_route(Photo, path="/photos", inputs=[Photo.id], outputs=[Photo.id], uploadfile_inputs=[Photo.picture])
`;
const tested = openTestHome();
let client: LocalClient;
let s3: Server;
let keys: Record<string, string>;

beforeAll(async () => {
  s3 = createServer((_request, response) => {
    response.writeHead(404, { "content-type": "application/xml" });
    response.end("<Error><Code>NoSuchBucket</Code><Message>The bucket does not exist</Message></Error>");
  });
  await new Promise<void>((resolve) => s3.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(s3.address() as AddressInfo).port}`;
  keys = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "s3cret", AWS_ENDPOINT_URL: endpoint };
  writeFileSync(join(tested.project_root, "app.py"), APP);
  client = await tested.startDaemon();
  await serveExample(client, await tested.readApp("main"));
}, TIMEOUT);

afterAll(async () => {
  s3.close();
  await tested[Symbol.asyncDispose]();
}, TIMEOUT);

const INPUT = "SERVICE_INPUT_MEDIA_DEST";
const refused: readonly [env: Record<string, string>, detail: RegExp][] = [
  [{ [INPUT]: "ftp://host/x" }, /^SERVICE_INPUT_MEDIA_DEST is "ftp:\/\/host\/x", which is not a store/],
  [
    { SERVICE_OUTPUT_MEDIA_DEST: "/no/such" },
    /^SERVICE_OUTPUT_MEDIA_DEST is "\/no\/such", a folder that does not exist/,
  ],
  [{ [INPUT]: "file:///no/such" }, /^SERVICE_INPUT_MEDIA_DEST is "file:\/\/\/no\/such", a folder that/],
  [
    { [INPUT]: "s3://gone/x" },
    /^SERVICE_INPUT_MEDIA_DEST is "s3:\/\/gone\/x"\. The store s3:\/\/gone\/x does not exist: NoSuchBucket/,
  ],
  [
    { [INPUT]: "s3://gone", AWS_ACCESS_KEY_ID: "" },
    /^SERVICE_INPUT_MEDIA_DEST is "s3:\/\/gone"\. .*AWS_ACCESS_KEY_ID is empty/,
  ],
  [
    { [INPUT]: "gs://bucket", GOOGLE_CREDENTIALS: "s3cret" },
    /^SERVICE_INPUT_MEDIA_DEST is .*GOOGLE_CREDENTIALS is not the JSON key/,
  ],
  [{ SERVICE_MEDIA_SOURCES: "s3://good,nonsense://x" }, /^SERVICE_MEDIA_SOURCES has "nonsense:\/\/x"/],
];

test.each(refused)(
  "a service stays as it is when its next place for files cannot be used: %o",
  {
    timeout: TIMEOUT,
  },
  async (env, detail) => {
    const before = await findService(client, "main/ingest");
    const app = await tested.readApp("main", { ...keys, ...env });
    const update = client.call("serviceApply", {
      body: { ...app, service: null, port: null, allow_destructive: false },
    });
    const problem = { code: "config_invalid", message: expect.stringMatching(detail), hint: expect.any(String) };
    await expect(update).rejects.toMatchObject(problem);
    expect(await update.catch((error: Error) => `${error.message} ${JSON.stringify(error)}`)).not.toContain("s3cret");
    const run = client.call("openTarget", { body: { ...app, services: ["ingest"], pid: process.pid } });
    await expect(run).rejects.toMatchObject(problem);
    expect(await findService(client, "main/ingest")).toEqual(before);
    expect((await fetch(`${before.endpoint}/health`)).status).toBe(200);
  },
);

test("a store that does not answer prevents no update", { timeout: TIMEOUT }, async () => {
  const before = await findService(client, "main/ingest");
  const silent = { ...keys, [INPUT]: "s3://bucket", AWS_ENDPOINT_URL: "http://127.0.0.1:9" };
  const app = await tested.readApp("main", silent);
  await client.call("serviceApply", { body: { ...app, service: null, port: null, allow_destructive: false } });
  const folder = join(tested.folder, "kept files");
  mkdirSync(folder);
  const next = await tested.readApp("main", { [INPUT]: folder });
  await client.call("serviceApply", { body: { ...next, service: null, port: null, allow_destructive: false } });
  expect(await findService(client, "main/ingest")).toMatchObject({ state: "AVAILABLE", port: before.port });
});

test("a service that stops during an upload leaves nothing of it", { timeout: TIMEOUT }, async () => {
  const uploads = join(tested.home, HOME_PATHS.media, "main", MEDIA_FOLDERS.uploads);
  const files = () =>
    readdirSync(uploads, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() || entry.isDirectory(),
    );
  const { endpoint } = await findService(client, "main/ingest");
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const upload = request(`${endpoint}/photos`, { method: "POST", headers });
  const ended = new Promise((resolve) => upload.once("close", resolve));
  upload.on("error", () => undefined);
  upload.write('--b\r\nContent-Disposition: form-data; name="picture"; filename="a.png"\r\n\r\n');
  upload.write(Buffer.alloc(1_000_000));
  await waitFor(() => files().some((entry) => entry.isFile()));
  await client.call("serviceStop", { body: { name: "main/ingest" } });
  await ended;
  expect(files()).toEqual([]);
});
