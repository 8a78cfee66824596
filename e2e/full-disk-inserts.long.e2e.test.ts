import { randomBytes } from "node:crypto";
import { statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canMount } from "@appdb/testkit/can-mount";
import { eventually } from "@appdb/testkit/eventually";
import { openTestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { expectExit, writeFile } from "./support/served.ts";
import { mountSmallDisk } from "./support/small-disk.ts";

const MAIN = "cloud://acme:main";
const DOCS = `${MAIN}/docs`;
const INSERTS = 6;
const ROWS = 24_000;
const APP = `
import appdb as db
from appdb.functions import uuid7

class Docs(db.model_base(), name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.String
`;

test.skipIf(!canMount())(
  "large inserts into a nearly full disk are refused, and reads and drops continue",
  { timeout: 600_000 },
  async () => {
    await using project = openTestProject({ env: { SERVICE_DISK_FLOOR_GB: "0.5" } });
    await using disk = mountSmallDisk(project, 2_100);
    writeFile(project, "app.py", APP);
    await expectExit(project, 0, "init");
    const hosted = await startWithAcme(project);
    await using _stopping = {
      [Symbol.asyncDispose]: async () => {
        disk.free();
        await hosted.server.interrupt("SIGTERM");
      },
    };
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    await expectExit(project, 0, "schema", "update", "app.py", MAIN);
    const rows = Array.from({ length: ROWS }, () => JSON.stringify({ text: randomBytes(5_000).toString("hex") }));
    writeFileSync(join(project.folder, "many.jsonl"), `${rows.join("\n")}\n`);
    const ran = [];
    for (let count = 0; count < INSERTS; count += 1) ran.push(await project.cli("insert", DOCS, "many.jsonl"));
    expect(ran.some(({ code }) => code !== 0)).toBe(true);
    for (const { code, stderr } of ran) if (code !== 0) expect(stderr).toContain("reserve is 0.5 GB");
    const stored = ran.filter(({ code }) => code === 0).length * ROWS;
    const count = async () => JSON.parse((await expectExit(project, 0, "count", DOCS, "--json")).stdout).count;
    expect(await count()).toBeGreaterThanOrEqual(stored);

    const { bavail, bsize } = statfsSync(project.home);
    // about two batches beyond the reserve, and the log
    expect((bavail * bsize) / 1024 ** 2).toBeGreaterThan(128);

    // what is written on the disk by others ends no database for good either
    disk.fill();
    await expectExit(project, 0, "count", DOCS);
    disk.free();
    await eventually(async () => expect(await count()).toBeGreaterThanOrEqual(stored), { timeout_ms: 60_000 });
    await expectExit(project, 0, "drop", DOCS, "-f");
  },
);
