// `node scripts/object-stores.mjs`: servers that speak the protocols of S3 and Azure Blob Storage, for the contract tests of
// packages/media. They are installed once a machine, into ~/.cache/appdb-object-stores or the folder that
// APPDB_OBJECT_STORES names; what is there stays. Go builds the first of them. The tool environment has that of Google's.
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { stream } from "./lib/run.mjs";
import { main, Stop, say } from "./lib/say.mjs";

const FOLDER = process.env.APPDB_OBJECT_STORES ?? join(homedir(), ".cache", "appdb-object-stores");
const BIN = join(FOLDER, "bin");
const S3 = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const AZURE = "azurite@3.37.0";

await main(async () => {
  mkdirSync(BIN, { recursive: true });
  await Promise.all([installS3(), installAzure()]);
  say(`The object stores for tests are in ${FOLDER}.`);
});

async function installS3() {
  if (existsSync(join(BIN, "versitygw"))) return;
  await run("go", ["install", S3], { env: { ...process.env, GOBIN: BIN } });
}

async function installAzure() {
  const target = join(FOLDER, "azurite");
  if (existsSync(join(target, "node_modules", "azurite", "package.json"))) return;
  mkdirSync(target, { recursive: true });
  await run("npm", ["install", "--silent", "--no-save", "--prefix", target, AZURE]);
}

async function run(command, args, options) {
  const code = await stream(command, args, options);
  if (code !== 0) throw new Stop(`${command} ${args.join(" ")} ended with the status ${code}.`);
}
