import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { appError, fromProblem, parseProblem } from "@appdb/contract/errors";
import {
  OPERATOR_ANSWERS,
  type OperatorAct,
  type OperatorAnswer,
  type OperatorRequest,
} from "@appdb/contract/operator";
import type { Program } from "../program.ts";

/** Large enough for lists of a large server. */
const MAX_BYTES = 256 * 1024 * 1024;

export interface AskOperatorDeps {
  readonly program: Pick<Program, "server">;
  readonly home: string;
  readonly signal: AbortSignal;
}

/**
 * Runs one operator command on the home with `server.js`, which reads the server's settings from the environment and
 * the home.
 * @throws hosted_not_available when this installation has no server; interrupted; the error of the server's program
 */
export async function askOperator(
  { home, program, signal }: AskOperatorDeps,
  request: OperatorRequest,
): Promise<OperatorAnswer<OperatorAct>> {
  const { argv, file } = program.server(["operator", JSON.stringify(request)]);
  if (!existsSync(file)) {
    throw appError("hosted_not_available", {
      detail: `This installation has no server: ${file} is missing.`,
      hint: "Run the command of the checkout in which the server was built: ./cli server status",
    });
  }
  const { output, stderr } = await run(argv, signal);
  const text = output.trim();
  const problem = parseProblem(text);
  if (problem !== undefined) throw fromProblem(problem);
  if (text === "") {
    throw appError("internal_error", {
      detail: `The server's program ended without a result for the home ${home}:\n${stderr.trim()}`,
    });
  }
  return OPERATOR_ANSWERS[request.act].parse(JSON.parse(text));
}

function run(argv: readonly [string, ...string[]], signal: AbortSignal): Promise<{ output: string; stderr: string }> {
  const [command, ...args] = argv;
  return new Promise((resolve, reject) => {
    execFile(command, args, { signal, maxBuffer: MAX_BYTES }, (error, output, stderr) => {
      if (signal.aborted) return reject(appError("interrupted", { detail: "The command was interrupted." }));
      // a status other than 0 comes with a problem on stdout or text on stderr
      if (error !== null && output === "" && stderr === "") return reject(error);
      resolve({ output, stderr });
    });
  });
}
