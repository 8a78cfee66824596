import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type MediaService, startMediaService } from "../testing/media-service.ts";

const APP = `
import os

import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Paper(Base, name="papers"):
    key = db.Column(type=db.String, primary_key=True)
    topic: db.String
    text: db.Document


@db.uda
class Longest(db.Aggregator):
    """The given file with the most bytes."""

    def __init__(self):
        self.text = None

    def update(self, text: db.Document) -> None:
        if self.text is None or os.path.getsize(text) > os.path.getsize(self.text):
            self.text = text

    def value(self) -> db.Document:
        return self.text


@db.uda
class Joined(db.Aggregator):
    """Adds all files to the first one, in place."""

    def __init__(self):
        self.text = None

    def update(self, text: db.Document) -> None:
        if self.text is None:
            self.text = text
            return
        os.chmod(self.text, 0o600)
        with open(self.text, "a") as file, open(text) as more:
            file.write(more.read())

    def value(self) -> int:
        return os.path.getsize(self.text)


@db.query
def longest():
    return Paper.group_by(Paper.topic).order_by(Paper.topic).select(Paper.topic, text=Longest(Paper.text))


@db.query
def joined(topic: str):
    return Paper.where(Paper.topic == topic).select(bytes=Joined(Paper.text))


photos = Router()
photos.add_insert_route(Paper, path="/papers", uploadfile_inputs=[Paper.text])
photos.add_query_route(path="/longest", query=longest, method="get")
photos.add_query_route(path="/joined", query=joined)
`;

let service: MediaService;

beforeAll(async () => {
  const database = await createTestDatabase();
  service = await startMediaService({ database, runtimeIn: testRuntime, log: createSilentLog() }, APP);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

async function insert(key: string, topic: string, text: string): Promise<void> {
  const form = service.formOf({}, { key, topic });
  form.append("text", new Blob([text]), `${key}.md`);
  expect((await service.send("/papers", form)).status).toBe(200);
}

test("an aggregate's result that is a given file is the same object", async () => {
  await insert("a", "sea", "# Sea");
  await insert("b", "sea", "# A longer sea");
  await insert("c", "hill", "# Hill");
  const before = [...service.objects()].sort();
  const answer = await fetch(`${service.base}/longest`);
  const { rows } = (await answer.json()) as { rows: { topic: string; text: string }[] };
  expect(rows.map(({ topic }) => topic)).toEqual(["hill", "sea"]);
  const texts = await Promise.all(rows.map(async ({ text }) => (await fetch(text)).text()));
  expect(texts).toEqual(["# Hill", "# A longer sea"]);
  expect([...service.objects()].sort()).toEqual(before);
  expect(service.leftovers()).toEqual([]);
});

test("an aggregate that writes into a given file fails, and the file is refused afterwards", async () => {
  await insert("d", "wood", "# Wood");
  await insert("e", "wood", "# Trees");
  const failed = await service.send("/joined", { topic: "wood" });
  expect(failed.status).toBe(400);
  expect(failed.json).toMatchObject({
    code: "function_failed",
    detail: expect.stringContaining("changed or removed its input file"),
  });
  expect(await service.send("/joined", { topic: "hill" })).toMatchObject({
    status: 200,
    json: { rows: [{ bytes: 6 }] },
  });
  expect(await service.send("/joined", { topic: "wood" })).toMatchObject({ json: { code: "media_not_found" } });
});
