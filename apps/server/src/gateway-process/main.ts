/**
 * The gateway as a process of its own, beside the server that has started it (`superviseGateway`): it goes on when that ends without a word, and
 * the next one finds it. It reads the server's settings itself. `SERVICE_ROLES=gateway` of the server runs the same gateway.
 */

import { toProblem } from "@appdb/contract/errors";
import { runMain } from "@appdb/system/processes/run-main";
import { runGateway } from "./run-gateway.ts";

async function run(): Promise<number> {
  // whoever reads what is printed may have been killed
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  try {
    await runGateway();
    return 0;
  } catch (error) {
    const problem = toProblem(error);
    if (problem.code === "internal_error") throw error;
    process.stdout.write(`${JSON.stringify(problem)}\n`);
    return 1;
  }
}

runMain(run);
