import { execFileSync } from "node:child_process";

const NEST =
  "const fs = require('fs'); for (let at = 0; at < 40; at++) { fs.mkdirSync(process.argv[1]); process.chdir(process.argv[1]); }";

/** Makes folders in a folder, one in the other, until no path is long enough for the last one. */
export function nestTooDeep(folder: string): void {
  execFileSync(process.execPath, ["-e", NEST, "d".repeat(200)], { cwd: folder });
}
