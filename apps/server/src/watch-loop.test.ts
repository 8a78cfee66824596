import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

const MODULE = new URL("./watch-loop.ts", import.meta.url).href;

/** Runs a program that watches itself, ten beats of 50 ms. */
async function run(program: string): Promise<{ status: unknown[]; said: string }> {
  const text = `import { watchLoop } from ${JSON.stringify(MODULE)};\nwatchLoop({ beat_ms: 50, most: 10 });\n${program}`;
  const args = ["--import", "tsx", "--input-type=module", "--eval", text];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    said += piece;
  });
  return { status: await once(child, "close"), said };
}

test("a process whose event loop hangs ends, and says so", { timeout: 60_000 }, async () => {
  const { said, status } = await run("for (;;);");
  expect(status).toEqual([null, "SIGKILL"]);
  expect(said).toContain("the server hung and ends");
});

test("a process that works on is left alone, and ends when it has nothing to do", { timeout: 60_000 }, async () => {
  const { status } = await run("await new Promise((resolve) => setTimeout(resolve, 1_500));");
  expect(status).toEqual([0, null]);
});
