import { relative } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import ordinary from "../vitest.config.ts";
import { MUTATIONS } from "./lib/mutations.mjs";
import { ROOT } from "./lib/paths.mjs";

/** Tests as they are, over sources in which the fault number `APPDB_MUTATION` is planted as they are loaded: no file is written. */
const planted = MUTATIONS[Number(process.env.APPDB_MUTATION)];

const plant: Plugin = {
  name: "planted-fault",
  enforce: "pre",
  transform: (code, id) =>
    planted !== undefined && relative(ROOT, id) === planted.file
      ? { code: code.replace(planted.from, () => planted.to), map: null }
      : undefined,
};

export default defineConfig({
  ...ordinary,
  test: {
    ...ordinary.test,
    projects: (ordinary.test?.projects ?? []).map((project) =>
      typeof project === "object" && "test" in project ? { ...project, plugins: [plant] } : project,
    ),
  },
});
