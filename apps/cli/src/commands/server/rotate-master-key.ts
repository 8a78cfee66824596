import type { OperatorAnswer } from "@appdb/contract/operator";
import { defineCommand, type JsonFlag } from "../../define-command.ts";

/** The next start of the server encrypts everything under the new key. */
export const rotateMasterKey = defineCommand<JsonFlag, [], OperatorAnswer<"rotate-master-key">>({
  brief: "Write a new master key; the next start of the server takes it",
  examples: [
    ["cli server rotate-master-key", "then restart the server"],
    ["cli server rotate-master-key --json", "the same for a program"],
  ],
  parameters: {},
  run: (ctx) => ctx.operate({ act: "rotate-master-key" }),
  render: ({ file, former, next }, out) => {
    out.line(`The new master key ${next} is in ${file}.`);
    out.note("Restart the server: it encrypts the keys again and moves the new key to server/master-key.");
    out.note(
      `Keep a copy of the previous key ${former} with backups made before that restart: they open with no other key.`,
    );
  },
});
