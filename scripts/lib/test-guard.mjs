// Watches a test run from a separate session. The run's folder arrives as a line on stdin. If stdin ends without a
// second line, the run was killed, and the guard removes its processes, mounts and files.
import { text } from "node:stream/consumers";
import { removeAll } from "./test-leftovers.mjs";

const [folder, ended] = (await text(process.stdin)).split("\n");
if (folder !== "" && ended !== "ended") await removeAll(folder);
