import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { canMount } from "@appdb/testkit/can-mount";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { startHosted } from "./support/hosted.ts";
import { INSERTED_APP } from "./support/inserters.ts";
import { expectExit, expectProblem, makeProject, post } from "./support/served.ts";
import { mountSmallDisk } from "./support/small-disk.ts";

const MAIN = "cloud://acme:main";
const DOCS = `${MAIN}/docs`;
const ROWS = 20_000;

test.skipIf(!canMount())(
  "below the reserve of the server's disk, rows are read and not written, until there is space",
  { timeout: 240_000 },
  async () => {
    await using project = await makeProject(INSERTED_APP, { env: { SERVICE_DISK_FLOOR_GB: "0.4" } });
    await using disk = mountSmallDisk(project, 1_000);
    const hosted = await startHosted(project);
    await using _stopping = {
      [Symbol.asyncDispose]: async () => {
        disk.free();
        await hosted.server.interrupt("SIGTERM");
      },
    };
    await hosted.setUp("ann@example.com");
    await hosted.browse("POST", "/v1/orgs", { name: "acme" });
    const key = (await hosted.browse("POST", "/v1/orgs/acme/keys", { name: "backend" })).json.api_key;
    project.env.SERVICE_API_KEY = key;
    const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
    await eventually(async () => expect(await json("db", "status", MAIN)).toMatchObject({ state: "AVAILABLE" }), {
      timeout_ms: 60_000,
    });
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    await expectExit(project, 0, "schema", "update", "app.py", MAIN);
    await expectExit(project, 0, "service", "update", "app.py", MAIN, "-f");
    const address = (await json("service", "list", MAIN)).services[0].endpoint;
    const insert = () => post(`${address}/docs`, { token: "a" }, { "x-api-key": key });
    const count = async () => (await json("count", DOCS)).count;
    expect(await insert()).toMatchObject({ status: 200 });
    const lines = Array.from({ length: ROWS }, (_, index) => JSON.stringify({ token: `t${index} ${"x".repeat(500)}` }));
    writeFileSync(join(project.folder, "many.jsonl"), `${lines.join("\n")}\n`);

    disk.fill(300);
    await eventually(async () =>
      expect(await insert()).toMatchObject({
        status: 507,
        json: {
          code: "disk_full",
          detail: expect.stringContaining("the disk of the server is nearly full"),
          hint: expect.stringContaining("Ask the operator of the server to free space on its disk"),
        },
      }),
    );
    const refusal = {
      code: "disk_full",
      detail: expect.stringMatching(/^The disk of the server has 0\.\d\d GB left, and its reserve is 0\.4 GB\./),
      hint: expect.stringContaining("Ask the operator of the server to free space on its disk"),
    };
    expect(await expectProblem(project, 1, "insert", DOCS, "many.jsonl")).toMatchObject(refusal);
    expect(await expectProblem(project, 1, "rename", DOCS, "papers")).toMatchObject(refusal);
    expect(await count()).toBe(1);
    // a pod that starts below the reserve refuses rows too
    await expectExit(project, 0, "db", "restart", MAIN);
    await eventually(async () => expect(await insert()).toMatchObject({ status: 507, json: { code: "disk_full" } }), {
      timeout_ms: 60_000,
    });
    expect(await expectProblem(project, 1, "insert", DOCS, "many.jsonl")).toMatchObject(refusal);

    disk.free();
    await eventually(async () => expect(await insert()).toMatchObject({ status: 200 }), { timeout_ms: 60_000 });
    await expectExit(project, 0, "insert", DOCS, "many.jsonl");
    expect(await count()).toBe(ROWS + 2);
  },
);
