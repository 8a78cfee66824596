// Builds `dist/` unless it matches the current sources. For tests that run without `npm test`.
import { ensureBuilt } from "./lib/build.mjs";
import { main } from "./lib/say.mjs";

await main(ensureBuilt);
