import { parseTarget } from "@appdb/contract/names";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { TARGET, text } from "../parameters.ts";
import { openWork } from "../work-target.ts";

interface Cancelled {
  readonly id: string;
}

/** What a cancelled job did is undone: new columns go, values come back. One that ignores errors leaves what it did. */
export const cancel = defineCommand<JsonFlag, [target: string, id: string], Cancelled>({
  brief: "Cancel a job",
  examples: [
    ["cli jobs cancel main 019a", "the job whose id begins so"],
    ["cli jobs cancel main/reports 019a7c --json", "for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [TARGET, { brief: "Its id, or the beginning of it", placeholder: "JOB", parse: text }],
    },
  },
  run: async (ctx, _flags, target, id) => {
    return await (await openWork(ctx, parseTarget(target))).jobCancel(id);
  },
  render: ({ id }, out) => out.line(`cancelled  ${id}`),
});
