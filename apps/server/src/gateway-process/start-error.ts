import { type AppError, appError, fromProblem, parseProblem } from "@appdb/contract/errors";
import type { EndedGateway } from "./start-gateway.ts";

const LINES_SAID = 12;

/** Why it has ended: by what it said itself, where it knew. */
export function toStartError({ code, errors, output, signal }: EndedGateway): AppError {
  const problem = parseProblem(output.trim().split("\n").at(-1) ?? "");
  if (problem !== undefined) return fromProblem(problem);
  // of one that a former server started nobody hears how
  const status = code === null ? ", and how is not known" : ` with the status ${code}`;
  const how = signal === null ? status : ` by ${signal}`;
  const said = errors.trim().split("\n").slice(-LINES_SAID).join("\n");
  return appError("gateway_failed", {
    detail: `The gateway has ended${how}${said === "" ? "." : `:\n${said}`}`,
    hint: "Read the log of the server; SERVICE_ROLES=control-plane,reconciler starts it without a gateway.",
    meta: { code, signal },
  });
}
