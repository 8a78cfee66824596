// Waits beside a test run in a session of its own. The run's folder comes as a line on stdin; when stdin ends without
// a second line, the run was killed: then its processes, mounts and files go with it.
import { text } from "node:stream/consumers";
import { removeAll } from "./test-leftovers.mjs";

const [folder, ended] = (await text(process.stdin)).split("\n");
if (folder !== "" && ended !== "ended") await removeAll(folder);
