import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";

const TOOLS = join(ROOT, ".tools");
const INSTALL_TIMEOUT_MS = 240_000;

/**
 * Python programs that tests need, by the name of their requirements: `openapi` reads OpenAPI documents (schemathesis,
 * openapi-python-client, openapi-spec-validator), `library` runs notebooks and suites (nbclient, pytest-xdist).
 * Installs them once into an environment below `.tools` according to `<name>-requirements.txt` and returns its program
 * folder. Indexes and certificates come from the environment, as for pip and uv.
 */
export async function ensurePythonTools(name: "library" | "openapi"): Promise<string> {
  const requirements = join(ROOT, "e2e", "support", `${name}-requirements.txt`);
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const folder = join(TOOLS, `${name}-${digest}`);
  if (!existsSync(folder)) await install(folder, requirements);
  return join(folder, "bin");
}

/**
 * Builds in a sibling folder of its own first, so that an incomplete one is never used, and tests and test files may
 * install concurrently.
 */
async function install(folder: string, requirements: string): Promise<void> {
  const own = `${folder}.${randomBytes(4).toString("hex")}`;
  const uv = join(TOOLS, "bin", "uv");
  const python = join(TOOLS, "bin", "python");
  const from = ["--require-hashes", "--only-binary", ":all:", "-r", requirements];
  try {
    await run(uv, ["venv", "--quiet", "--no-project", "--relocatable", "--python", python, own], requirements);
    await run(uv, ["pip", "install", "--quiet", "--python", join(own, "bin", "python"), ...from], requirements);
    if (!existsSync(folder)) renameSync(own, folder);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

async function run(program: string, args: readonly string[], requirements: string): Promise<void> {
  const env = { ...process.env, VIRTUAL_ENV: undefined };
  await promisify(execFile)(program, args, { env, timeout: INSTALL_TIMEOUT_MS }).catch((error) => {
    const said = String(error.stderr).trim().split("\n").slice(-6).join("\n  ");
    throw new Error(
      `This machine cannot install what e2e/support/${basename(requirements)} names, which this test needs: it takes a ` +
        `package index that uv reaches (UV_DEFAULT_INDEX, SSL_CERT_FILE). uv said:\n  ${said}`,
      { cause: error },
    );
  });
}
