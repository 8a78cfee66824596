import { execFileSync, type IOType } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { platform } from "node:process";
import { expect, test } from "vitest";

const MODULE = new URL("./run-main.ts", import.meta.url).href;
/** A program of ours that starts a tenant's program, which prints its open descriptors. */
const PROGRAM = `import { runMain } from "${MODULE}";
import { execFileSync } from "node:child_process";
runMain(async () => { console.log(execFileSync("/bin/ls", ["/proc/self/fd"], { encoding: "utf8" })); return 0; });`;

test.skipIf(platform !== "linux")("started programs inherit no descriptors of the service's starter", () => {
  const left = openSync("/dev/null", "r");
  try {
    // ls reads the folder through the first free descriptor
    const stdio = Array.from({ length: 40 }, (_, at): IOType | number => (at > 17 ? left : "ignore"));
    stdio.splice(1, 2, "pipe", "inherit");
    const args = ["--conditions=source", "--import", "tsx", "--input-type=module", "-e", PROGRAM];
    const found = execFileSync(process.execPath, args, { encoding: "utf8", stdio });
    expect(found.trim().split("\n")).toEqual(["0", "1", "2", "3"]);
  } finally {
    closeSync(left);
  }
});
