// Builds `dist/` unless it was made from the sources as they are: for tests that are run by themselves.
import { ensureBuilt } from "./lib/build.mjs";
import { main } from "./lib/say.mjs";

await main(ensureBuilt);
