import type { LogLine } from "@appdb/contract/routes/control-databases";
import type { Output } from "./output.ts";
import { showControls } from "./show-controls.ts";

/** Prints a line of build output outside the payload; as JSON lines for programs. */
export function printBuildLine(out: Pick<Output, "note">, json: boolean): (line: LogLine) => void {
  return (line) => out.note(json ? JSON.stringify(line) : `    ${showControls(line.line)}`);
}
