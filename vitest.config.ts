import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const resolve = { conditions: ["source"] };
const ssr = { resolve: { conditions: ["source"], externalConditions: ["source"] } };
const database = ["./packages/testkit/src/postgres-global-setup.ts"];
const programs = ["./packages/testkit/src/built-programs-setup.ts"];
const template = ["./packages/testkit/src/cluster-template-setup.ts"];

// biome-ignore lint/style/noProcessEnv: the runner names the long form so
const IS_LONG = process.env.APPDB_FAULTS === "long";
/** `x.long.e2e.test.ts` runs only in the long form. */
const NOT_RUN = ["**/node_modules/**", ...(IS_LONG ? [] : ["**/*.long.*.test.ts", "**/*.long.test.ts"])];

/** What begins last ends alone. vitest itself knows them from its second run on. */
const LONGEST = [
  "examples.e2e.test.ts",
  "sandbox-attacks.e2e.test.ts",
  "printed-pages.e2e.test.ts",
  "hosted-kills.e2e.test.ts",
  "dashboard-databases.e2e.test.ts",
  "hosted-services.e2e.test.ts",
  "account-journey.e2e.test.ts",
  "hosted-journey.e2e.test.ts",
  "both-targets.e2e.test.ts",
  "service-kills.e2e.test.ts",
  "dashboard-organization.e2e.test.ts",
  "container-organizations.e2e.test.ts",
  "sandbox-organizations.e2e.test.ts",
  "local.contract.test.ts",
  "container-pods.contract.test.ts",
  "run-server.contract.test.ts",
  "build-attack.contract.test.ts",
];

/** `expect.poll` waits for a state like `eventually()`. This limit, and those of tests and hooks, matter only to a test
 *  that fails. They are for a machine whose processor five other programs share: then a test takes five times as long. */
const expect = { poll: { timeout: 20_000 } };

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}`));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

/**
 * The suffix of a test file says what it needs: nothing, a PostgreSQL, an adapter's technology, or the whole product.
 */
export default defineConfig({
  test: {
    // tests wait for processes some of the time: five files at a time, also where there are two cores
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: "unit",
          expect,
          include: ["{packages,apps}/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: [...NOT_RUN, "**/*.{db,contract,e2e}.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // here and below: no module keeps state, and a process a file would load anew what most files import
          isolate: false,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "db",
          expect,
          include: ["{packages,apps}/*/src/**/*.db.test.ts"],
          exclude: NOT_RUN,
          isolate: false,
          globalSetup: database,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "contract",
          expect,
          include: ["{packages,apps}/*/src/**/*.contract.test.ts"],
          exclude: NOT_RUN,
          isolate: false,
          globalSetup: [...database, ...programs],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "e2e",
          expect,
          include: ["e2e/**/*.e2e.test.ts"],
          globalSetup: template,
          exclude: NOT_RUN,
          isolate: false,
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
