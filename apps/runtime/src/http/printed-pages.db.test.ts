import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toProblem } from "@appdb/contract/errors";
import { localMediaPlace } from "@appdb/contract/media-place";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { expect, test } from "vitest";
import { openMedia } from "../media/open-media.ts";
import { readPrintedExamples, runPrinted } from "../testing/printed-examples.ts";
import { serveEndpoints } from "./serve-endpoints.ts";

/**
 * Documentation pages that print an application and its answers, with the minimum number of answers and of refused
 * blocks.
 */
const PAGES: readonly [page: string, examples: number, refused: number][] = [
  ["queries.md", 9, 1],
  ["columns.md", 2, 2],
  ["defaults.md", 1, 0],
  ["expressions.md", 2, 1],
  ["udfs.md", 8, 0],
  ["resource-pools.md", 1, 0],
  ["routes.md", 6, 0],
  ["indexes.md", 3, 0],
  ["queries-over-http.md", 5, 0],
  ["many-rows.md", 6, 0],
  ["media.md", 11, 2],
  ["views.md", 2, 0],
];
/** Pages with Python that no test runs, because an export needs another database. */
const WITH_MORE_PYTHON = ["many-rows.md"];

test.each(PAGES)(
  "the examples of docs/%s work",
  async (name, min) => {
    const { app, examples, unchecked } = readPrintedExamples(name);
    expect(examples.length).toBeGreaterThanOrEqual(min);
    if (!WITH_MORE_PYTHON.includes(name)) expect(unchecked).toEqual([]);
    await using tested = await openTestApplication(app, {}, (folder, sql) =>
      openMedia({
        place: localMediaPlace(folder, {}),
        env: {},
        hosted: undefined,
        destinations: [],
        sql,
        log: createSilentLog(),
      }),
    );
    const options = { host: "127.0.0.1", port: 0, log: createSilentLog(), body_bytes: 10_000 };
    await using served = await serveEndpoints(tested.endpoints, options);
    const folder = mkdtempSync(join(tmpdir(), "appdb-printed-"));
    const ending = new AbortController();
    const working = tested.endpoints.background("printed")?.run(ending.signal, 0);
    try {
      for (const example of examples) expect(await runPrinted(example, served.port, folder)).toMatch(example.printed);
    } finally {
      ending.abort();
      await working;
      rmSync(folder, { recursive: true, force: true });
    }
  },
  60_000,
);

test.each(PAGES.filter(([, , refused]) => refused > 0))(
  "docs/%s prints the current refusals",
  async (name, _, count) => {
    const { refused } = readPrintedExamples(name);
    expect(refused).toHaveLength(count);
    const projectRoot = mkdtempSync(join(tmpdir(), "appdb-refused-"));
    try {
      for (const { app, printed } of refused) {
        writeFileSync(join(projectRoot, "app.py"), app);
        const reading = readManifest({ runtime: testRuntime(projectRoot), app_file: "app.py" });
        const { detail, hint } = toProblem(await reading.catch((error: unknown) => error));
        expect(`error: ${detail}\nhint: ${hint}\n`).toMatch(printed);
      }
    } finally {
      rmSync(projectRoot, { recursive: true, force: true });
    }
  },
);
