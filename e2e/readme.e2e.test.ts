import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { type Finished, freePort, makePlace, type Place, ROOT, type Started } from "./support/place.ts";

interface Step {
  readonly kind: "type" | "serve" | "edit";
  readonly lines: readonly string[];
}

test("the tour of README.md works as it is printed", async () => {
  const steps = readTour(readFileSync(join(ROOT, "README.md"), "utf8"), await freePort());
  await using place = makePlace();
  const said = new Map<string, Finished>();
  let serving: Started | undefined;
  for (const { kind, lines } of steps) {
    if (kind === "edit") editApplication(place, lines);
    if (kind === "serve") serving = await serve(place, lines[0] ?? "");
    for (const line of kind === "type" ? lines : []) {
      if (line.startsWith("cli service update") && serving !== undefined) {
        expect(await serving.interrupt(), serving.output()).toBe(130);
        serving = undefined;
      }
      const wanted = Number(/# exit (\d+)/.exec(line)?.[1] ?? 0);
      const done = await place.type(line);
      expect(done.code, `${line}\n${done.stdout}${done.stderr}`).toBe(wanted);
      said.set(line, done);
    }
  }
  const all = [...said.entries()];
  const answers = all.filter(([line]) => line.startsWith("curl")).map(([, { stdout }]) => stdout);
  expect(JSON.parse(answers[0] ?? "")).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
  expect(JSON.parse(answers[1] ?? "")).toEqual({ title_upper: "COMPUTED, NOT STORED" });
  expect(JSON.parse(answers[2] ?? "")).toMatchObject({ status: 422, code: "invalid_request" });
  const listed = all.find(([line]) => line.startsWith("cli service list"))?.[1].stdout;
  expect(listed).toContain("main/ingest");
  expect(listed).toContain("AVAILABLE");
  expect(place.processes()).toEqual([]);
}, 180_000);

/** The fenced blocks that follow a `<!-- tour -->` mark, their port exchanged for a free one. */
function readTour(readme: string, port: number): Step[] {
  const blocks = [...readme.matchAll(/<!-- tour(.*?) -->\n```(\w+)\n([\s\S]*?)```/g)];
  expect(blocks.length).toBeGreaterThan(6);
  return blocks.map(([, mark = "", language, text = ""]) => ({
    kind: language === "python" ? "edit" : mark.includes("until") ? "serve" : "type",
    lines: text
      .replaceAll("8000", String(port))
      .split("\n")
      .filter((line) => line.trim() !== ""),
  }));
}

function editApplication(place: Place, lines: readonly string[]): void {
  const file = join(place.project, "app.py");
  const before = readFileSync(file, "utf8");
  const after = before.replace(/^ {4}title_upper = .*\n/m, (line) => `${line}${lines.join("\n")}\n`);
  expect(after).not.toBe(before);
  writeFileSync(file, after);
}

async function serve(place: Place, line: string): Promise<Started> {
  const serving = place.start(line.replace(/\s+#.*/, ""));
  const port = /--port (\d+)/.exec(line)?.[1];
  await eventually(async () => {
    expect(serving.child.exitCode, serving.output()).toBe(null);
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
  });
  return serving;
}
