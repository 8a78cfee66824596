/**
 * The gateway as its own process next to the server that started it (`superviseGateway`). It survives a crash of the
 * server, and the next server adopts it. `SERVICE_ROLES=gateway` of the server runs the same gateway.
 */

import { toProblem } from "@appdb/contract/errors";
import { runMain } from "@appdb/system/processes/run-main";
import { runGateway } from "./run-gateway.ts";

async function run(): Promise<number> {
  // the reader of the output may have been killed
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
