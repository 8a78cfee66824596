import { execFile } from "node:child_process";
import { appError, fromProblem, type Problem } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { Program } from "../program.ts";

const LONGEST_MS = 60_000;

/** Lets the engine look through an application without a database. @throws app_invalid, and whatever else it finds */
export async function checkApplication(program: Program, manifest: Manifest, signal: AbortSignal): Promise<void> {
  const [command, ...args] = program.pod(["check"]);
  const written = await new Promise<string>((resolve, reject) => {
    const child = execFile(command, args, { signal, timeout: LONGEST_MS, maxBuffer: 10_000_000 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(appError("internal_error", { detail: `The check did not end: ${error.message}`, cause: error }));
    });
    // One that ended early has told why by its exit.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(JSON.stringify(manifest));
  });
  const problem = JSON.parse(written) as Problem | null;
  if (problem !== null) throw fromProblem(problem);
}
