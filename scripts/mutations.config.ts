import { relative } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import ordinary from "../vitest.config.ts";
import { MUTATIONS } from "./lib/mutations.mjs";
import { ROOT } from "./lib/paths.mjs";

/**
 * Runs the unchanged tests on sources in which fault number `APPDB_MUTATION` is planted while they load. Writes no
 * file.
 */
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
