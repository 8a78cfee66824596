// Bundles the server with a test's entry point next to the built programs: <name of the bundle> <entry>.
import { bundleTestServer } from "./lib/bundle.mjs";
import { DIST } from "./lib/paths.mjs";

const [, , name, entry] = process.argv;
await bundleTestServer(DIST, name, entry);
