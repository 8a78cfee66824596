import { AppError, appError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import type { Application, Control, ControlAccess } from "../context.ts";
import { APPLICATION, CONFIG } from "../testing/fake-context.ts";
import { withHostedMedia } from "./hosted-media.ts";

const STORE = "mediafs://acme:main/home";
const SERVER = { url: "https://cloud.example.com", source: "SERVICE_API_URL", is_running: true };

/** The databases whose stores were asked for. */
let asked: string[] = [];

function contextOf(open: () => Promise<object>) {
  asked = [];
  const control = async () => ({ open }) as unknown as ControlAccess;
  return { config: CONFIG, signal: new AbortController().signal, control };
}

function signedIn(credential: Partial<Control["credential"]>) {
  const call = async (_name: string, { params }: { params: { org: string; db: string } }) => {
    asked.push(`${params.org}:${params.db}`);
    return { items: [], next: null };
  };
  return contextOf(async () => ({ server: SERVER, credential, client: { call } }));
}

function appOf(env: Record<string, string>, destination?: string): Application {
  const { manifest, runtime } = APPLICATION;
  const [table] = manifest.tables;
  const [column] = table?.columns ?? [];
  if (table === undefined || column === undefined) throw new Error("The example has a column.");
  const type = destination === undefined ? column.type : { ...column.type, destination };
  const tables = [{ ...table, columns: [{ ...column, type }] }];
  return { manifest: { ...manifest, tables }, runtime: { ...runtime, env } };
}

const SESSION = { kind: "session", headers: { authorization: "Bearer x" } } as const;
const ACCESS = { url: SERVER.url, url_source: SERVER.source, home: CONFIG.home };

test("an application without hosted stores needs no server", async () => {
  const ctx = contextOf(() => Promise.reject(new Error("not asked")));
  const app = appOf({ SERVICE_INPUT_MEDIA_DEST: "s3://bucket", SERVICE_OUTPUT_MEDIA_DEST: "" }, "file:///srv");
  expect((await withHostedMedia(ctx, app)).runtime).toEqual(app.runtime);
});

test("each named store is asked once, and the sign-in is read later", async () => {
  const ctx = signedIn(SESSION);
  const env = {
    SERVICE_INPUT_MEDIA_DEST: STORE,
    SERVICE_OUTPUT_MEDIA_DEST: `${STORE}/out`,
    SERVICE_MEDIA_SOURCES: " ",
  };
  const { runtime } = await withHostedMedia(ctx, appOf(env, "mediafs://acme:other/home"));
  expect([asked, runtime.hosted]).toEqual([["acme:main", "acme:other"], ACCESS]);
});

test("a key goes to the service, and not into its environment", async () => {
  const ctx = signedIn({ kind: "api_key", headers: { "x-api-key": "sk_1" } });
  const { runtime } = await withHostedMedia(ctx, appOf({ SERVICE_MEDIA_SOURCES: `s3://a, ${STORE}` }));
  expect([runtime.hosted, Object.keys(runtime.env)]).toEqual([
    { ...ACCESS, api_key: "sk_1" },
    ["SERVICE_MEDIA_SOURCES"],
  ]);
});

test.each([
  [{ SERVICE_OUTPUT_MEDIA_DEST: STORE }, undefined, "SERVICE_OUTPUT_MEDIA_DEST"],
  [{}, STORE, "destination= of docs.title"],
])("a store that cannot be used is refused with its setting: %o %s", async (env, destination, setting) => {
  const refusal = appError("not_signed_in", { detail: "Not signed in.", hint: "Sign in: cli login" });
  const failed = withHostedMedia(
    contextOf(() => Promise.reject(refusal)),
    appOf(env, destination),
  );
  const error = await failed.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({
    code: "not_signed_in",
    message: `${setting} names ${STORE}, which cannot be used: Not signed in.`,
    hint: "Sign in: cli login",
  });
});
