import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isCloud, parseStoreAddress } from "@appdb/media/stores/media-address";
import { openStore } from "@appdb/media/stores/open-store";
import { type ObjectStore, type ObjectStoreName, startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

const URI = "cloud://acme:main";
const TIMEOUT = 240_000;
const HIDDEN = "a-value-that-no-answer-shows";

/** A value of the secret that the store cannot use. */
const WRONG: Readonly<Record<ObjectStoreName, readonly [name: string, spoil: (value: string) => string]>> = {
  s3: ["AWS_SECRET_ACCESS_KEY", () => HIDDEN],
  // its emulator checks no signature
  gcs: ["GOOGLE_CREDENTIALS", () => HIDDEN],
  azure: ["AZURE_STORAGE_CONNECTION_STRING", (value) => value.replace(/AccountKey=[^;]*/, `AccountKey=${HIDDEN}`)],
};

const appFor = (address: string) => `import tempfile
from pathlib import Path

import appdb as db
from appdb.serving import Router

Base = db.model_base()


@db.udf
def shouted(text: db.Document) -> db.Document:
    path = Path(tempfile.mkdtemp()) / "shouted.txt"
    path.write_text(Path(text).read_text("utf-8").upper(), "utf-8")
    return str(path)


class Note(Base, name="notes"):
    title = db.Column(type=db.String, primary_key=True)
    text: db.Document
    loud = db.Column(value=shouted(text))
    kept = db.Column(value=shouted(text), destination="${address}/kept")


notes = Router(name="notes")
notes.add_insert_route(Note, path="/notes", uploadfile_inputs=[Note.text])
`;

let project: TestProject;
let key: string;

const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);

beforeAll(async () => {
  project = await makeProject("");
  await startWithAcme(project);
  key = (await json("key", "create", "caller", "--org", "acme")).api_key;
}, TIMEOUT);
afterAll(() => project[Symbol.asyncDispose](), TIMEOUT);

for (const name of ["gcs", "s3", "azure"] as const) {
  describe.skipIf(whyNoStore(name) !== undefined)(`a bucket of the database's own: ${name}`, () => {
    let bucket: ObjectStore;
    beforeAll(async () => {
      bucket = await startObjectStore(name);
    }, TIMEOUT);
    afterAll(() => bucket[Symbol.asyncDispose]());

    const setSecret = async (secret: string, value: string) => {
      writeFileSync(join(project.folder, "value"), value);
      await expectExit(project, 0, "secret", "set", URI, secret, "--file", "value");
    };
    const insert = async (title: string, text: string) => {
      const [service] = (await json("service", "list", URI)).services;
      const form = new FormData();
      form.set("title", title);
      form.set("text", new Blob([text]));
      const answer = await fetch(`${service.endpoint}/notes`, {
        method: "POST",
        body: form,
        headers: { "x-api-key": key },
      });
      return { status: answer.status, row: (await answer.json()) as Record<string, string> };
    };
    const keys = async () => {
      const place = parseStoreAddress(bucket.address);
      if (!isCloud(place)) throw new Error(`${bucket.address} is not a bucket.`);
      await using store = await openStore(place, { environment: bucket.environment });
      return (await store.list()).objects.map((object) => object.key.split("/")[0]);
    };

    test(`files go to ${name} by the secrets and the settings of the database`, { timeout: TIMEOUT }, async () => {
      for (const [secret, value] of Object.entries(bucket.environment)) await setSecret(secret, value);
      writeFile(project, "app.py", appFor(bucket.address));
      const settings = ["input", "output"].map((of) => `db_${of}_media_dest = "${bucket.address}/${of}"`);
      writeFile(project, "service.toml", ["[[service.database]]", `name = "${URI}"`, ...settings, ""].join("\n"));
      await expectExit(project, 0, "deploy", "app.py", URI, "-f");
      const { row, status } = await insert(name, "good morning");
      expect([status, row]).toEqual([200, expect.objectContaining({ title: name })]);
      const contents = ["text", "loud", "kept"].map(async (cell) => (await fetch(row[cell] ?? "")).text());
      expect(await Promise.all(contents)).toEqual(["good morning", "GOOD MORNING", "GOOD MORNING"]);
      expect(await keys()).toEqual(["input", "kept", "output"]);
    });

    test(`a wrong secret of ${name} is named in the answer, and no value is shown`, { timeout: TIMEOUT }, async () => {
      const [secret, spoil] = WRONG[name];
      await setSecret(secret, spoil(bucket.environment[secret] ?? ""));
      await expectExit(project, 0, "db", "restart", URI);
      await expectExit(project, 0, "service", "restart", `${URI}/notes`);
      const { row, status } = await insert("refused", "not stored");
      expect([status, row]).toEqual([
        502,
        expect.objectContaining({ code: "media_denied", hint: expect.stringContaining(secret) }),
      ]);
      expect(JSON.stringify(row)).not.toContain(HIDDEN.slice(0, 12));
      expect(await keys()).toHaveLength(3);
    });
  });
}
