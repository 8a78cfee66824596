import type { Manifest } from "@appdb/contract/manifest";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { type RouteAnswer, wholeText } from "@appdb/engine/answers/answers";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { RouteRequest } from "@appdb/engine/routes/route";
import type { EndpointsDeps } from "@appdb/engine/routes/route-context";
import { createFakeUdfRunner, type FakeStep, type FakeUdfRunner } from "./fake-udf-runner.ts";
import { openSchemaStage, type SchemaStage, type StageOptions } from "./schema-stage.ts";

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface AnsweredJson extends Answered {
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at, not worked with
  readonly json: any;
}

export interface ServeParts {
  readonly deps?: Partial<EndpointsDeps>;
  readonly limits?: Partial<typeof DEFAULT_LIMITS>;
}

/** The routes of a manifest's service `api`, as one process serves them. */
export interface ServedRoutes {
  readonly endpoints: Endpoints;
  send(path: string, request: Partial<RouteRequest>, method?: string): Promise<Answered>;
  /** Sends text and bytes unchanged, everything else as JSON. */
  post(path: string, body: unknown, headers?: RouteRequest["headers"]): Promise<AnsweredJson>;
}

/** Routes of manifests on a database, with functions of the test instead of Python. */
export interface RoutesStage extends SchemaStage {
  /** The functions of the columns that need Python, by name. */
  readonly steps: Record<string, FakeStep>;
  readonly udf: FakeUdfRunner;
  /** Serves the applied manifest until the stage is disposed. @throws as `openEndpoints` */
  serve(manifest: Manifest, parts?: ServeParts): Promise<ServedRoutes>;
}

export async function openRoutesStage(options: StageOptions = {}): Promise<RoutesStage> {
  const schema = await openSchemaStage(options);
  const { sql, clock, log } = schema;
  const steps: Record<string, FakeStep> = {};
  const udf = createFakeUdfRunner(steps);
  const opened: Endpoints[] = [];
  return {
    ...schema,
    steps,
    udf,
    async serve(manifest, { deps = {}, limits = {} } = {}) {
      const endpoints = await openEndpoints(
        { sql, clock, log, udf: () => udf, ...deps },
        { manifest, target: "main", services: ["api"], limits: { ...DEFAULT_LIMITS, ...limits } },
      );
      opened.push(endpoints);
      return servedRoutes(endpoints);
    },
    async [Symbol.asyncDispose]() {
      for (const endpoints of opened) await endpoints[Symbol.asyncDispose]();
      await schema[Symbol.asyncDispose]();
    },
  };
}

function servedRoutes(endpoints: Endpoints): ServedRoutes {
  const send: ServedRoutes["send"] = async (path, request, method = "POST") => {
    const found = endpoints.routes.find((route) => route.path === path && route.method === method);
    if (found === undefined) throw new Error(`no route ${method} ${path}`);
    const answer = await found.handle({ body: "", headers: {}, id: "req-1", ...request });
    return { status: answer.status, headers: answer.headers, text: await textOf(answer) };
  };
  return {
    endpoints,
    send,
    post: async (path, body, headers = {}) => {
      const isRaw = typeof body === "string" || body instanceof Uint8Array;
      const answer = await send(path, { body: isRaw ? body : JSON.stringify(body), headers });
      return { ...answer, json: JSON.parse(answer.text) };
    },
  };
}

async function textOf(answer: RouteAnswer): Promise<string> {
  const { body } = answer;
  if (typeof body === "string" || Buffer.isBuffer(body)) return wholeText(answer);
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(typeof piece === "string" ? Buffer.from(piece) : piece);
  return Buffer.concat(pieces).toString("utf8");
}
