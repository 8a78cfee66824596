// `npm run pictures`: the dashboard pictures of docs/dashboard.md, taken by the browser tests.
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { nodeBin, ROOT } from "./lib/paths.mjs";
import { capture, stream } from "./lib/run.mjs";
import { main, Stop, say } from "./lib/say.mjs";

const FOLDER = join(ROOT, "docs", "pictures");
const MAX_BYTES = 60_000;

await main(async () => {
  const { ensureBuilt } = await import("./lib/build.mjs");
  await ensureBuilt();
  const args = [nodeBin("vitest", "vitest"), "run", "--project", "e2e", "e2e/dashboard"];
  const env = { ...process.env, PICTURES: FOLDER, CHROMIUM: "required" };
  const status = await stream(process.execPath, args, { cwd: ROOT, env });
  if (status !== 0) return status;
  for (const name of readdirSync(FOLDER).filter((file) => file.endsWith(".png"))) makeSmall(join(FOLDER, name));
  return 0;
});

/** Pages have few colours: 256 colours look the same and take a third of the size. */
function makeSmall(file) {
  const small = `${file}.small`;
  const done = capture("pngquant", ["--force", "--strip", "--speed", "1", "--output", small, "256", file]);
  if (done.code !== 0) throw new Stop(`pngquant did not run: ${done.stderr.trim()}`, "apt-get install pngquant");
  if (statSync(small).size < statSync(file).size) renameSync(small, file);
  else rmSync(small);
  const bytes = statSync(file).size;
  if (bytes > MAX_BYTES) throw new Stop(`${file} has ${bytes} bytes, the maximum is ${MAX_BYTES}.`);
  say(`${file}: ${bytes} bytes`);
}
