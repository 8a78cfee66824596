import { type AppError, appError, fromProblem, parseProblem } from "@appdb/contract/errors";
import type { EndedGateway } from "./start-gateway.ts";

const LINES_SAID = 12;

/** The error of an ended gateway, with its own problem if it printed one. */
export function toStartError({ code, errors, output, signal }: EndedGateway): AppError {
  const problem = parseProblem(output.trim().split("\n").at(-1) ?? "");
  if (problem !== undefined) return fromProblem(problem);
  // the exit of a gateway that a previous server started is unknown
  const status = code === null ? " for an unknown reason" : ` with status ${code}`;
  const how = signal === null ? status : ` with signal ${signal}`;
  const lastLines = errors.trim().split("\n").slice(-LINES_SAID).join("\n");
  return appError("gateway_failed", {
    detail: `The gateway ended${how}${lastLines === "" ? "." : `:\n${lastLines}`}`,
    hint: "Read the log of the server. To start it without a gateway, set SERVICE_ROLES=control-plane,reconciler.",
    meta: { code, signal },
  });
}
