import type { MachineCheck } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printChecks } from "../../output/checks-text.ts";
import { EXIT } from "../../output/exit-codes.ts";

/** Exits with 1 when something is missing. */
export const doctor = defineCommand<JsonFlag, [], { ok: boolean; checks: MachineCheck[] }>({
  brief: "Check what this machine has and lacks; changes nothing",
  examples: [
    ["cli doctor", "Node, Python, PostgreSQL, home and daemon"],
    ["cli doctor --json", "the same for a program"],
  ],
  parameters: {},
  run: async (ctx) => {
    const checks = await ctx.doctor();
    return { ok: checks.every((check) => check.ok), checks };
  },
  render: ({ ok, checks }, out) => {
    printChecks(checks, out, "MISSING");
    out.line();
    const isMissing = checks.some((check) => !check.ok && check.failed !== true);
    const trouble = isMissing ? "is missing" : "does not work";
    out.line(ok ? "This machine has everything." : `Something ${trouble}; the lines above say what to do.`);
  },
  exitCode: ({ ok }) => (ok ? EXIT.done : EXIT.failed),
});
