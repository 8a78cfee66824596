import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";

/** The server re-encrypts everything with the new key at its next start. */
export const rotateMasterKey = defineCommand<JsonFlag, [], OperatorAnswer<"rotate-master-key">>({
  brief: "Write a new master key; the server uses it from its next start",
  examples: [
    ["cli server rotate-master-key", "then restart the server"],
    ["cli server rotate-master-key --json", "the same for a program"],
  ],
  parameters: {},
  run: (ctx) => ctx.operate({ act: "rotate-master-key" }),
  render: ({ file, former: previous, next }, out) => {
    out.line(`The new master key ${next} is in ${file}.`);
    out.note("Restart the server: it encrypts the keys again and moves the new key to server/master-key.");
    out.note(
      `Keep a copy of the previous key ${previous} with backups made before that restart. They cannot be opened with another key.`,
    );
  },
});
