import { AppError, appError } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import { defineCommand } from "../../define-command.ts";
import { type Forced, NO_QUESTION } from "../daemon/no-question.ts";
import { TARGET, text } from "../parameters.ts";
import { openWork } from "../work-target.ts";

interface Cancelled {
  readonly id: string;
}

/**
 * Undoes the work of a cancelled job: new columns are dropped and values restored. A job that ignores errors keeps its
 * results.
 */
export const cancel = defineCommand<Forced, [target: string, id: string], Cancelled>({
  brief: "Cancel a job",
  examples: [
    ["cli jobs cancel main 019a", "the job whose id starts with 019a"],
    ["cli jobs cancel main/reports 019a7c --json", "for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [TARGET, { brief: "Its id, or at least 4 characters of its start", placeholder: "JOB", parse: text }],
    },
    ...NO_QUESTION,
  },
  run: async (ctx, _flags, target, id) => {
    refuseSwapped(target, id);
    const { text: name } = parseTarget(target);
    return await (await openWork(ctx, parseTarget(target))).jobCancel(id).catch((error: unknown) => {
      throw error instanceof AppError ? withTarget(error, name) : error;
    });
  },
  render: ({ id }, out) => out.line(`cancelled  ${id}`),
});

/** Names of databases do not begin with a digit, as the ids of jobs do. */
function refuseSwapped(target: string, id: string): void {
  if (!/^\d[\da-f-]{3,}$/.test(target) || /^\d/.test(id)) return;
  throw appError("invalid_target", {
    detail: `${target} is the id of a job. The database comes before it.`,
    hint: `Write: cli jobs cancel ${id} ${target}`,
  });
}

/** The database does not know its target's name. Its hint has a placeholder. */
function withTarget(error: AppError, target: string): AppError {
  const hint = error.hint?.replace("<target>", target);
  return appError(error.code, { detail: error.message, hint, meta: error.meta, cause: error });
}
