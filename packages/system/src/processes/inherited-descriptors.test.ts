import { execFileSync, type IOType } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { platform } from "node:process";
import { bundleScript } from "@appdb/testkit/built-programs";
import { expect, test } from "vitest";

/** A program of ours that starts a tenant's program, which prints its open descriptors. */
const PROGRAM = (module: string) => `import { runMain } from ${JSON.stringify(module)};
import { execFileSync } from "node:child_process";
runMain(async () => { console.log(execFileSync("/bin/ls", ["/proc/self/fd"], { encoding: "utf8" })); return 0; });`;

test.skipIf(platform !== "linux")(
  "what was open where the service was started is not open in the programs that it starts",
  async () => {
    const program = PROGRAM(await bundleScript(join(import.meta.dirname, "run-main.ts")));
    const left = openSync("/dev/null", "r");
    try {
      // the one that ls reads by is the first that is free
      const stdio = Array.from({ length: 40 }, (_, at): IOType | number => (at > 17 ? left : "ignore"));
      stdio.splice(1, 2, "pipe", "inherit");
      const args = ["--input-type=module", "-e", program];
      const found = execFileSync(process.execPath, args, { encoding: "utf8", stdio });
      expect(found.trim().split("\n")).toEqual(["0", "1", "2", "3"]);
    } finally {
      closeSync(left);
    }
  },
);
