import type { LogLine } from "@appdb/contract/routes/control-databases";
import type { Output } from "./output.ts";
import { showControls } from "./show-controls.ts";

/** Prints what a build prints, beside the payload as it comes; for programs as one JSON object a line. */
export function printBuildLine(out: Pick<Output, "note">, json: boolean): (line: LogLine) => void {
  return (line) => out.note(json ? JSON.stringify(line) : `    ${showControls(line.line)}`);
}
