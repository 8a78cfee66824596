import type { DatabaseOp, DatabasePlan } from "@appdb/contract/routes/control-databases";
import type { Output } from "./output.ts";
import { showControls } from "./show-controls.ts";

const VERDICTS = {
  up_to_date: ["=", "up to date"],
  create: ["+", "will be created"],
  update: ["~", "will be updated"],
} as const satisfies Record<DatabasePlan["resolution"], readonly [string, string]>;

const SIGNS = { create: "+", build: "~", upload: "~", change: "~" } as const satisfies Record<DatabaseOp["op"], string>;

/** Maximum number of lines shown for one change, and the number of the others. The server shortens lists in the same way. */
const MAX_LINES = 20;

/** Prints the plan of a database update and a summary. */
export function printDatabasePlan(plan: DatabasePlan, out: Output): void {
  const [sign, verdict] = VERDICTS[plan.resolution];
  const danger = plan.summary.destructive > 0 ? " (DESTRUCTIVE)" : "";
  out.line(`${sign} ${plan.uri.padEnd(24)}  ${verdict}${danger}  ${plan.state}`);
  for (const op of plan.ops) {
    out.line(
      `    ${SIGNS[op.op]} ${showControls(op.description)}  [${op.severity === "destructive" ? "DESTRUCTIVE" : "safe"}]`,
    );
    const shown = op.lines.length <= MAX_LINES + 1 ? op.lines : op.lines.slice(0, MAX_LINES);
    for (const line of shown) out.line(`        ${showControls(line)}`);
    if (shown.length < op.lines.length) out.line(`        ... and ${op.lines.length - MAX_LINES} more`);
  }
  out.line();
  out.line(`Plan: ${plan.summary.ops} change(s), ${plan.summary.destructive} destructive`);
}
