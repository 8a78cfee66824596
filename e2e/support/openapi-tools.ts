import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";

const TOOLS = join(ROOT, ".tools");
const REQUIREMENTS = join(ROOT, "e2e", "support", "openapi-requirements.txt");
const INSTALL_TIMEOUT_MS = 240_000;

/**
 * External programs that read OpenAPI documents (schemathesis, openapi-python-client, openapi-spec-validator). Installs
 * them once into an environment below `.tools` according to `openapi-requirements.txt` and returns its program folder.
 * Indexes and certificates come from the environment, as for pip and uv.
 */
export async function ensureOpenApiTools(): Promise<string> {
  const digest = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex").slice(0, 12);
  const folder = join(TOOLS, `openapi-${digest}`);
  if (!existsSync(folder)) await install(folder);
  return join(folder, "bin");
}

/**
 * Builds in a sibling folder first, so that an incomplete one is never used, and two test files may install
 * concurrently.
 */
async function install(folder: string): Promise<void> {
  const own = `${folder}.${process.pid}`;
  const uv = join(TOOLS, "bin", "uv");
  const python = join(TOOLS, "bin", "python");
  const from = ["--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS];
  try {
    await run(uv, ["venv", "--quiet", "--no-project", "--relocatable", "--python", python, own]);
    await run(uv, ["pip", "install", "--quiet", "--python", join(own, "bin", "python"), ...from]);
    if (!existsSync(folder)) renameSync(own, folder);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, VIRTUAL_ENV: undefined };
  await promisify(execFile)(program, args, { env, timeout: INSTALL_TIMEOUT_MS }).catch((error) => {
    const said = String(error.stderr).trim().split("\n").slice(-6).join("\n  ");
    throw new Error(
      `This machine cannot install what e2e/support/openapi-requirements.txt names, which this test needs: it takes a ` +
        `package index that uv reaches (UV_DEFAULT_INDEX, SSL_CERT_FILE). uv said:\n  ${said}`,
      { cause: error },
    );
  });
}
