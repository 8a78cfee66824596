import { createHash } from "node:crypto";
import type { CallAnswer } from "@appdb/contract/clients/control-client";
import type { ControlRouteName } from "@appdb/contract/routes/control-paths";
import type { Answers, Asked } from "./control-server.ts";
import { changeOf, DATABASE, DONE } from "./databases.ts";
import { openHostedProject } from "./test-project.ts";

type Plan = CallAnswer<"databasePlan">;

export const MIB = 1024 * 1024;
export const URI = "cloud://acme:main";
export const NO_LOCK = "Without uv.lock or requirements.txt the image has the base library alone.";
export const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");

export type UploadProject = Awaited<ReturnType<typeof openUploadProject>>;

/** A project, and a server that stores blobs and plans by missing ones, like the real one. */
export async function openUploadProject() {
  const stored = new Map<string, Buffer>();
  const state: { plan: Partial<Plan>; is_agreed: boolean } = { plan: {}, is_agreed: false };
  const store = (blobs: Map<string, Buffer>) => {
    for (const [digest, bytes] of blobs) {
      if (sha256(bytes) !== digest) throw new Error(`A blob is not what its name ${digest} says.`);
      stored.set(digest, bytes);
    }
    return { stored: blobs.size, bytes: 0 };
  };
  const answers: { -readonly [Name in keyof Answers]: Answers[Name] } = {
    databasePlan: ({ body }) => {
      const plan = { ...planOf(body, stored), ...state.plan };
      state.is_agreed = plan.in_agreement;
      return plan;
    },
    blobMissing: ({ body }) => ({ missing: body.digests.filter((digest: string) => !stored.has(digest)) }),
    blobUpload: ({ body }) => store(body),
    databaseUpdate: () =>
      state.is_agreed
        ? { database: DATABASE, operation: null }
        : changeOf("database.update", { state: "UPDATING", generation: 2 }),
    operationShow: () => DONE,
    operationLog: async function* () {},
    databaseShow: () => ({ ...DATABASE, generation: 2 }),
  };
  const project = await openHostedProject({ answers });
  const bodyOf = (name: ControlRouteName): Asked["body"] =>
    project.server.asked.filter((each) => each.name === name).at(-1)?.body;
  return {
    ...project,
    answers,
    stored,
    state,
    store,
    bodyOf,
    /** Writes an application and an entry for `URI`. */
    project: () =>
      project.write({ "service.toml": `[[service.database]]\nname = "${URI}"\ncpu = 2\n`, "app.py": "x = 1\n" }),
    /** Paths of the last requested plan. */
    sent: (): string[] => bodyOf("databasePlan").files.map(({ path }: { path: string }) => path),
  };
}

function planOf(body: Asked["body"], stored: ReadonlyMap<string, Buffer>): Plan {
  const missing = body.files.filter((file: { chunks: string[] }) => file.chunks.some((chunk) => !stored.has(chunk)));
  const op = {
    ...({ target: "files", op: "upload", severity: "additive", requires_restart: false, details: {} } as const),
    description: `the project files will change: ${missing.length} changed`,
    lines: [],
  };
  const ops = missing.length === 0 ? [] : [op];
  return {
    uri: URI,
    exists: true,
    state: "AVAILABLE",
    generation: 1,
    warnings: [NO_LOCK],
    resolution: ops.length === 0 ? "up_to_date" : "update",
    ops,
    in_agreement: ops.length === 0,
    missing_files: missing.length,
    missing_bytes: 0,
    summary: { ops: ops.length, destructive: 0, rebuild: false, restarts: false },
  };
}
