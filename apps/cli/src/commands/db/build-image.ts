import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printBuildLine } from "../../output/build-line.ts";
import { type ChangeResult, finishChange, printChange } from "./change.ts";
import { DATABASE, NO_WAIT_FLAG, openDatabase } from "./database.ts";

interface Flags extends JsonFlag {
  readonly noWait: boolean;
}

/** The project files that the database has are what it is built from; `db update` uploads others. */
export const buildImage = defineCommand<Flags, [uri?: string], ChangeResult>({
  brief: "Build the image of a database anew, though nothing changed",
  examples: [
    ["cli db build-image cloud://acme:main", "after a build that failed for no fault of the project's"],
    ["cli db build-image cloud://acme:main --no-wait --json", "do not wait, for a program"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [DATABASE] }, flags: { noWait: NO_WAIT_FLAG } },
  run: async (ctx, { json, noWait }, typed) => {
    const open = await openDatabase(ctx, typed, "build-image");
    const change = await open.client.call("databaseBuildImage", { params: open.params }, { signal: ctx.signal });
    return await finishChange(ctx, open, change, { wait: !noWait, onLine: printBuildLine(ctx.out, json) });
  },
  render: ({ database, operation }, out) => {
    if (operation?.state === "succeeded") out.line(`${database.uri}: rebuilt its image.`);
    else printChange({ database, operation }, out, "It runs on the base library alone: there is nothing to build.");
  },
});
