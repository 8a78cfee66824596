import { execFile } from "node:child_process";
import { appError, fromProblem, type Problem } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { Program } from "../program.ts";

const LONGEST_MS = 60_000;

/** Checks an application with the engine, without a database. @throws app_invalid, and other errors of the check */
export async function checkApplication(program: Program, manifest: Manifest, signal: AbortSignal): Promise<void> {
  const [command, ...args] = program.pod(["check"]);
  const written = await new Promise<string>((resolve, reject) => {
    const child = execFile(command, args, { signal, timeout: LONGEST_MS, maxBuffer: 10_000_000 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(appError("internal_error", { detail: `The check failed to finish: ${error.message}`, cause: error }));
    });
    // The exit status explains an early end.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(JSON.stringify(manifest));
  });
  const problem = JSON.parse(written) as Problem | null;
  if (problem !== null) throw fromProblem(problem);
}
