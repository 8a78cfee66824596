// Puts the server with a test's entry in place of its own beside the built programs: <name of the bundle> <entry>.
import { bundleTestServer } from "./lib/bundle.mjs";
import { DIST } from "./lib/paths.mjs";

const [, , name, entry] = process.argv;
await bundleTestServer(DIST, name, entry);
