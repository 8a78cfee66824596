import type { TreeEntry } from "@appdb/contract/control/project-tree";
import {
  type DatabasePlanRequest,
  databasePlanRequestSchema,
  type EnvironmentDocument,
} from "@appdb/contract/routes/control-databases";
import { describe, expect, test } from "vitest";
import type { MediaBounds } from "../../config/config-media.ts";
import type { ResourceBounds } from "../../config/config-pods.ts";
import { type DesiredDatabase, firstDesired } from "../../database/desired.ts";
import { type PlannedRow, planDatabase, type Stored } from "./plan-database.ts";

const URI = "cloud://acme:main";
const BOUNDS: ResourceBounds = {
  least: { cpu: 0.1, memory_mb: 256, disk_gb: 1, workers: 1 },
  most: { cpu: 4, memory_mb: 8_192, disk_gb: 100, workers: 8 },
};
const BASE: EnvironmentDocument = {
  source: null,
  files: [],
  python_version: null,
  system_packages: [],
  uv_options: null,
};
const locked = (text: string): EnvironmentDocument => ({
  ...BASE,
  source: "requirements.txt",
  files: [{ path: "requirements.txt", text }],
});
const FIRST: DesiredDatabase = {
  ...firstDesired({ cpu: 0.5, memory_mb: 1_024, disk_gb: 10, workers: 1 }),
  tree: "t1",
  environment: "e1",
};
const { is_awake: _, ...RUNS } = FIRST;
const file = (path: string, digest = "a"): TreeEntry => ({
  path,
  size: 1,
  is_executable: false,
  chunks: [digest.repeat(64)],
  link: null,
});

interface Given {
  readonly settings?: DatabasePlanRequest["settings"];
  readonly files?: readonly TreeEntry[];
  readonly environment?: EnvironmentDocument;
  readonly wanted?: { readonly tree?: string; readonly environment?: string | null };
  readonly row?: Partial<PlannedRow> | null;
  readonly stored?: Partial<Stored>;
  readonly media?: MediaBounds | undefined;
}

function plan({ environment = locked("iniconfig==2.0"), files = [file("app.py")], row, ...given }: Given = {}) {
  const known: PlannedRow = {
    state: "AVAILABLE",
    generation: 3,
    desired: FIRST,
    observed: RUNS,
    failure: null,
    last_build: null,
    usage: null,
    operation: null,
  };
  return planDatabase({
    uri: URI,
    row: row === null ? undefined : { ...known, ...row },
    request: databasePlanRequestSchema.parse({ settings: given.settings ?? {}, files, environment }),
    requestedState: { tree: "t1", environment: "e1", ...given.wanted },
    stored: {
      environment: locked("iniconfig==2.0"),
      files: [file("app.py")],
      is_built: true,
      missing: [],
      missing_bytes: 0,
      ...given.stored,
    },
    bounds: BOUNDS,
    media: given.media,
  });
}
const sentences = (given: Given) => plan(given).plan.ops.map(({ description }) => description);

test("an entry that matches the running database needs no change, whatever it leaves out", () => {
  const { plan: found, desired } = plan({ settings: { include: ["data/**"], python_version: "3.12" } });
  expect(found).toMatchObject({ ops: [], in_agreement: true, resolution: "up_to_date", warnings: [], generation: 3 });
  expect(found.summary).toEqual({ ops: 0, destructive: 0, rebuild: false, restarts: false });
  expect(desired).toEqual(FIRST);
});

describe("a media store", () => {
  const stores = (dest: string, current: string | null = null) =>
    plan({
      settings: { db_input_media_dest: dest },
      row: { observed: { ...RUNS, settings: { ...RUNS.settings, db_input_media_dest: current } } },
    });

  test("is changed by its address, and the database's own address is its home", () => {
    expect(stores("s3://bucket/in").desired.settings.db_input_media_dest).toBe("s3://bucket/in");
    expect(stores("mediafs://acme:main/home").plan.in_agreement).toBe(true);
    const back = stores("mediafs://acme:main/home/", "s3://bucket/in");
    expect(back.plan.ops.map(({ description }) => description)).toEqual([
      "db_input_media_dest will be home rather than s3://bucket/in, which restarts the database",
    ]);
  });

  test.each([
    ["bucket/in", /"bucket\/in" is not the address of a media store: s3:\/\/bucket/],
    ["file:///etc", /is a folder, which a hosted database cannot use/],
    ["mediafs://other:main/home", /other:main\/home is not supported.*mediafs:\/\/acme:main\/home/],
    ["mediafs://acme:main/home/in", /home\/in is not supported/],
  ])("that the database cannot use is refused: %s", (dest, message) => {
    const errors = [expect.objectContaining({ pointer: "/settings/db_input_media_dest" })];
    expect(() => stores(dest)).toThrow(
      expect.objectContaining({ code: "invalid_request", message: expect.stringMatching(message), errors }),
    );
  });
});

describe("the sources of media", () => {
  const sources = (given: readonly string[], current?: readonly string[]) =>
    plan({
      settings: { db_media_sources: [...given] },
      row: {
        observed: { ...RUNS, settings: { ...RUNS.settings, ...(current && { db_media_sources: [...current] }) } },
      },
    });

  test("change with a restart, and equal ones need none", () => {
    const { plan: found, desired } = sources(["s3://given/in", "gs://open", "gs://open"]);
    expect(found.ops.map(({ description, requires_restart: restarts }) => [description, restarts])).toEqual([
      ["db_media_sources will be s3://given/in, gs://open, which restarts the database", true],
    ]);
    expect(desired.settings.db_media_sources).toEqual(["s3://given/in", "gs://open"]);
    expect(sources(["gs://open"], ["gs://open"]).plan.in_agreement).toBe(true);
    expect(sources([]).plan.in_agreement).toBe(true);
    expect(sources([], ["gs://open"]).plan.ops.map(({ description }) => description)).toEqual([
      "db_media_sources will be empty rather than gs://open, which restarts the database",
    ]);
  });

  test.each(["bucket/in", "file:///etc", "mediafs://acme:main/home", "s3://given/../x", "s3://*"])(
    "that the database cannot read are refused: %s",
    (source) => {
      const errors = [expect.objectContaining({ pointer: "/settings/db_media_sources" })];
      expect(() => sources(["gs://open", source])).toThrow(
        expect.objectContaining({ code: "invalid_request", message: expect.stringContaining(source), errors }),
      );
    },
  );
});

describe("a resource", () => {
  test("restarts the database when it grows, and needs permission when it shrinks", () => {
    const { plan: found, desired } = plan({ settings: { cpu: 1, memory_mb: 512 } });
    expect(found.ops.map(({ description }) => description)).toEqual([
      "cpu will be 1 rather than 0.5, which restarts the database",
      "memory_mb will be 512 rather than 1024, less than before, which restarts the database",
    ]);
    expect(found.ops.map(({ severity }) => severity)).toEqual(["additive", "destructive"]);
    expect(found.summary).toMatchObject({ destructive: 1, restarts: true, rebuild: false });
    expect(desired.resources).toEqual({ cpu: 1, memory_mb: 512, disk_gb: 10, workers: 1 });
  });

  test("out of bounds is refused, with all bounds and settings in one error", () => {
    expect(() => plan({ settings: { cpu: 64, memory_mb: 1, disk_gb: 101, workers: 9 } })).toThrow(
      expect.objectContaining({
        code: "resources_refused",
        message: expect.stringMatching(
          /cpu is 64; at most 4 \(SERVICE_MAX_CPU of the server\); memory_mb is 1; at least 256 \(SERVICE_MIN_MEMORY_MB.*SERVICE_MAX_DISK_GB.*SERVICE_MAX_WORKERS/,
        ),
        errors: [
          expect.objectContaining({ pointer: "/settings/cpu" }),
          expect.objectContaining({ pointer: "/settings/memory_mb" }),
          expect.objectContaining({ pointer: "/settings/disk_gb" }),
          expect.objectContaining({ pointer: "/settings/workers" }),
        ],
      }),
    );
  });

  test("that stays the same passes bounds that were lowered since", () => {
    const resources = { cpu: 8, memory_mb: 16_384, disk_gb: 500, workers: 1 };
    const row = { desired: { ...FIRST, resources }, observed: { ...FIRST, resources } };
    expect(sentences({ settings: { cpu: 8, disk_gb: 500 }, row })).toEqual([]);
    expect(() => plan({ settings: { cpu: 9 }, row })).toThrow(/cpu is 9; at most 4/);
  });

  test("disk_gb below the used size is refused", () => {
    const usage = { disk_bytes: 3.5 * 1024 ** 3, disk_limit_bytes: 1, memory_bytes: null, is_disk_full: false };
    expect(() => plan({ settings: { disk_gb: 3 }, row: { usage } })).toThrow(/holds 3.50 GB already, so at least 4/);
    expect(sentences({ settings: { disk_gb: 4 }, row: { usage } })).toHaveLength(1);
  });

  test("disk_gb that stays the same passes when the database holds more", () => {
    const resources = { cpu: 0.5, memory_mb: 1_024, disk_gb: 1, workers: 1 };
    const usage = { disk_bytes: 1.24 * 1024 ** 3, disk_limit_bytes: 1, memory_bytes: null, is_disk_full: true };
    const row = { desired: { ...FIRST, resources }, observed: { ...FIRST, resources }, usage };
    expect(sentences({ settings: { disk_gb: 1 }, row })).toEqual([]);
    expect(sentences({ settings: { disk_gb: 2 }, row })).toEqual([
      "disk_gb will be 2 rather than 1, which restarts the database",
    ]);
  });
});

describe("the limit of the media store", () => {
  const media: MediaBounds = { default_gb: 20, max_gb: 50 };

  test("is shown for a new database, and stays when the entry leaves it out", () => {
    const { desired, plan: found } = plan({ settings: { media_gb: 5 }, media, row: null });
    expect(found.ops[0]?.lines).toEqual(["media_gb will be 5"]);
    const row = { desired, observed: { ...RUNS, settings: desired.settings } };
    expect(plan({ media, row })).toMatchObject({ plan: { ops: [] }, desired: { settings: { media_gb: 5 } } });
  });

  test("has no effect without a bucket, which the plan says", () => {
    expect(plan({ settings: { media_gb: 5 } }).plan.warnings).toEqual([
      "media_gb has no effect: this server has no bucket for media. The files are on its disk, and disk_gb limits them.",
    ]);
  });
});

describe("the image", () => {
  test("is built for a new environment, and changed lines are reported", () => {
    const found = plan({
      environment: locked("iniconfig==2.1"),
      wanted: { environment: "e2" },
      stored: { is_built: false },
    });
    expect(found.plan.ops).toMatchObject([
      {
        target: "image",
        op: "build",
        requires_restart: true,
        description: "the image will be built: requirements.txt changed",
        lines: ["requirements.txt: - iniconfig==2.0", "requirements.txt: + iniconfig==2.1"],
      },
    ]);
    expect(found.plan.summary.rebuild).toBe(true);
    expect(found.desired.environment).toBe("e2");
  });

  test("that the organization already has is not built again", () => {
    const given = { environment: locked("iniconfig==2.1"), wanted: { environment: "e2" } };
    expect(plan(given).plan.summary).toMatchObject({ rebuild: false, restarts: true });
    expect(sentences(given)).toEqual(["the image will be one that was built before: requirements.txt changed"]);
  });

  test("without a lock is the base library alone, with a warning", () => {
    const bare = { environment: BASE, wanted: { environment: null } };
    expect(plan(bare).plan).toMatchObject({
      ops: [{ target: "image", op: "change", description: /base library alone: source, requirements.txt changed/ }],
      warnings: ["Without uv.lock or requirements.txt the image has the base library alone."],
    });
    const same = { ...FIRST, environment: null };
    const again = plan({ ...bare, row: { desired: same, observed: { ...RUNS, environment: null } } });
    expect(again.plan).toMatchObject({ ops: [], warnings: [/base library alone/] });
  });

  test("with hundreds of changed lines shows only the first", () => {
    const many = Array.from({ length: 300 }, (_, at) => `p${at}==1`).join("\n");
    const [op] = plan({ environment: locked(many), wanted: { environment: "e2" } }).plan.ops;
    expect(op?.lines).toHaveLength(21);
    expect(op?.lines.at(-1)).toBe("... and 281 more");
  });
});

test("files are counted and named: added, changed and removed", () => {
  const files = [file("app.py", "b"), file("new.py"), { ...file("run.sh"), is_executable: true }];
  const stored = {
    files: [file("app.py"), file("old.py"), file("run.sh")],
    missing: [file("new.py")],
    missing_bytes: 1,
  };
  const { plan: found } = plan({ files, wanted: { tree: "t2" }, stored });
  expect(found.ops).toMatchObject([
    {
      target: "files",
      op: "upload",
      requires_restart: false,
      details: { added: 1, changed: 2, removed: 1 },
      description: "the project files will change: 1 added, 2 changed, 1 removed",
      lines: ["~ app.py", "~ run.sh", "+ new.py", "- old.py"],
    },
  ]);
  expect(found).toMatchObject({ missing_files: 1, missing_bytes: 1, summary: { rebuild: false } });
});

describe("a setting", () => {
  test("that pods read at start restarts the database, others do not", () => {
    const settings = { sleep_after: "15m", wake_on_request: true, db_input_media_dest: "s3://bucket/in" };
    const { plan: found, desired } = plan({ settings });
    expect(
      found.ops.map(({ description, requires_restart: requiresRestart }) => [description, requiresRestart]),
    ).toEqual([
      ["sleep_after will be 15m rather than never", false],
      ["wake_on_request will be true rather than false", false],
      ["db_input_media_dest will be s3://bucket/in, which restarts the database", true],
    ]);
    expect(desired.settings).toEqual({ ...FIRST.settings, ...settings });
  });

  test("of variables is shown by name, never by value", () => {
    const had = { ...RUNS, settings: { ...RUNS.settings, vars: { KEPT: "1", LESS: "2", OTHER: "hidden-before" } } };
    const { plan: found } = plan({
      settings: { vars: { KEPT: "1", MORE: "3", OTHER: "hidden" } },
      row: { observed: had },
    });
    expect(found.ops).toMatchObject([
      { target: "settings", lines: ["- LESS", "+ MORE", "~ OTHER"], requires_restart: true },
    ]);
    expect(JSON.stringify(found)).not.toContain("hidden");
  });

  test.each([
    [{ "A B": "1" }, /"A B" is not a valid variable name/],
    [{ A: "1\0" }, /"A" has a value that an environment cannot hold/],
    [{ A: "x".repeat(70_000) }, /the variables have 70001 bytes; the maximum is 65536/],
  ])("that no process can have is refused: %j", (vars, message) => {
    expect(() => plan({ settings: { vars } as never })).toThrow(message);
  });
});

describe("a database that does not exist", () => {
  test("will be created, with the values of its entry and defaults for the rest", () => {
    const { plan: found, desired } = plan({
      row: null,
      settings: { cpu: 2, sleep_after: "1h" },
      stored: { environment: null, files: undefined, is_built: false },
    });
    expect(found).toMatchObject({
      exists: false,
      state: "absent",
      generation: 0,
      resolution: "create",
      in_agreement: false,
    });
    expect(found.ops).toMatchObject([
      {
        target: "database",
        op: "create",
        description: "will be created with cpu 2, memory_mb 1024, disk_gb 10, workers 1",
        lines: ["sleep_after will be 1h"],
      },
      { target: "image", description: "the image will be built: from requirements.txt" },
      { target: "files", description: "1 project file will be uploaded" },
    ]);
    expect(desired).toMatchObject({ tree: "t1", environment: "e1", is_awake: true, resources: { cpu: 2 } });
  });

  test("is created within the operator's bounds", () => {
    const small = { least: BOUNDS.least, most: { cpu: 0.5, memory_mb: 512, disk_gb: 2, workers: 1 } };
    const made = planDatabase({
      uri: URI,
      row: undefined,
      bounds: small,
      media: undefined,
      requestedState: { tree: "t", environment: null },
      request: databasePlanRequestSchema.parse({ settings: {}, files: [], environment: BASE }),
      stored: { environment: null, files: undefined, is_built: false, missing: [], missing_bytes: 0 },
    });
    expect(made.desired.resources).toEqual(small.most);
    expect(made.plan).toMatchObject({ resolution: "create", summary: { ops: 1 } });
  });
});

describe("an earlier change that", () => {
  const asked: DesiredDatabase = { ...FIRST, environment: "e2", resources: { ...FIRST.resources, cpu: 2 }, builds: 1 };

  test("failed is still due, without the parts that nothing else needs", () => {
    const error = { code: "build_failed", detail: "numpy has no wheel.", hint: null };
    const lastBuild = { state: "failed" as const, error, operation_id: null, at: "2030-01-01T00:00:00.000Z" };
    const again = plan({
      row: { desired: asked, last_build: lastBuild },
      wanted: { environment: "e2" },
      stored: { is_built: false },
    });
    expect(again.plan.ops.map(({ target }) => target)).toEqual(["image"]);
    expect(again.plan.warnings).toEqual([
      "The last build failed: numpy has no wheel. To build it again without a change: cli db build-image cloud://acme:main",
    ]);
    expect(again.desired).toMatchObject({ environment: "e2", builds: 0, resources: { cpu: 0.5 } });
    expect(plan({ row: { desired: asked, last_build: lastBuild } }).plan.in_agreement).toBe(true);
  });

  test("is running is the basis of the comparison", () => {
    const { plan: found } = plan({ row: { state: "UPDATING", desired: asked, operation: "database.update" } });
    expect(found.ops.map(({ target }) => target)).toEqual(["image"]);
    expect(found.warnings).toEqual([
      "Generation 3 is in progress (database.update); this plan compares with its result.",
    ]);
  });

  test("left the database FAILED is reported with the reason", () => {
    const failure = { code: "pod_failed", detail: "its pod ended repeatedly.", hint: null };
    const { plan: found } = plan({ row: { state: "FAILED", failure } });
    expect(found.warnings).toEqual(["It has failed: its pod ended repeatedly."]);
  });
});
