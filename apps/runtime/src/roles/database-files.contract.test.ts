import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestPods, type StartedPod, type TestPods } from "../testing/test-pods.ts";

const TIMEOUT = 180_000;

const APP = `
import tempfile

import appdb as db

Base = db.model_base()


@db.udf
def write(title: str) -> db.Document:
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as made:
        made.write(title.upper())
    return made.name


class Notes(Base, name="notes"):
    title = db.Column(type=db.String, primary_key=True)
    page = write(title)
`;

let pods: TestPods;
let pod: StartedPod;

beforeAll(async () => {
  pods = openTestPods();
  const files = pods.putTree({ "app.py": APP });
  pod = pods.start(await pods.spec());
  await pod.ready();
  const update = { app_file: "app.py", files, folders: [] };
  const planned = await pod.ask("POST", "/v1/schema/plan", update);
  const { plan } = planned.json<{ plan: { catalog_version: number } }>();
  const { catalog_version: version } = plan;
  await pod.ask("POST", "/v1/schema/apply", { ...update, catalog_version: version, allow_destructive: false });
}, TIMEOUT);

afterAll(async () => {
  await pods[Symbol.asyncDispose]();
});

test("inserted and listed files have addresses that give their content", { timeout: TIMEOUT }, async () => {
  const { page } = (await pod.ask("POST", "/v1/tables/notes/rows", { title: "one" })).json<{ page: string }>();
  const listed = (await pod.ask("GET", "/v1/tables/notes/rows")).json<{ rows: { page: { address: string } }[] }>();
  expect(listed.rows).toMatchObject([{ page: { address: expect.any(String), type: "text/plain", bytes: 3 } }]);
  expect(JSON.stringify(listed)).not.toMatch(/"(?:store|key)"/);
  for (const address of [page, listed.rows[0]?.page.address ?? ""]) {
    expect(address).toMatch(/^\/v1\/orgs\/acme\/databases\/main\/file\?token=/);
    const file = await pod.ask("GET", `/v1/file${address.slice(address.indexOf("?"))}`);
    expect([file.status, file.text]).toEqual([200, "ONE"]);
  }
  expect((await pod.ask("GET", "/v1/file?token=x")).json().code).toBe("media_address_invalid");
});
