/**
 * The hosted service: control plane, reconciler and gateway in one process, or the roles in SERVICE_ROLES. `operator
 * <request>` runs a request of `cli server`, a JSON document. `reset-link <address>` is short for one of them.
 */

import { toProblem } from "@appdb/contract/errors";
import { runMain } from "@appdb/system/processes/run-main";

async function run(): Promise<number> {
  const [verb, ...rest] = process.argv.slice(2);
  if (verb === undefined) {
    const { runServer } = await import("./run-server.ts");
    await runServer();
    return 0;
  }
  if (verb === "reset-link" && rest.length === 1) {
    const { runOperator } = await import("./operator/run-operator.ts");
    const answer = await runOperator({ act: "reset-link", email: rest[0] });
    if ("link" in answer) process.stdout.write(`${answer.link}\n`);
    return 0;
  }
  if (verb === "operator" && rest.length === 1) return await operate(rest[0] ?? "");
  process.stderr.write(
    `error: ${[verb, ...rest].join(" ")} is not a command of the server\nhint: Start it without arguments. Operator commands: cli server --help\n`,
  );
  return 2;
}

/** Runs a request of `cli server`. Prints the answer with status 0, or a problem with status 1. */
async function operate(text: string): Promise<number> {
  try {
    const request: unknown = JSON.parse(text);
    const { runOperator } = await import("./operator/run-operator.ts");
    process.stdout.write(`${JSON.stringify(await runOperator(request))}\n`);
    return 0;
  } catch (error) {
    const problem = toProblem(error);
    if (problem.code === "internal_error") throw error;
    process.stdout.write(`${JSON.stringify(problem)}\n`);
    return 1;
  }
}

runMain(run);
