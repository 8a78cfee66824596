import { performance } from "node:perf_hooks";
import type { RouteAnswer } from "../answers/answers.ts";
import type { RequestTracer } from "../ports.ts";
import { readPreferences } from "../routes/prefer.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import { Timing } from "../timing.ts";

/**
 * Wraps a route: with `Prefer: timing` the response has a `Server-Timing` header. It also records the times for the
 * tracer, if any.
 */
export function withTiming(route: CompiledRoute, tracer?: RequestTracer): CompiledRoute {
  const handle = (request: RouteRequest): Promise<RouteAnswer> => {
    const isWanted = request.headers.prefer !== undefined && readPreferences(request.headers).has("timing");
    return isWanted ? handleTimed(route, request) : route.handle(request);
  };
  if (tracer === undefined) return { ...route, handle };
  const traced = { service: route.service, method: route.method, route: route.path };
  return {
    ...route,
    handle: async (request) => {
      const trace = tracer.begin({ ...traced, id: request.id, headers: request.headers });
      if (trace === undefined) return await handle(request);
      // For a streaming response: until its head is available.
      const answer = await handle({ ...request, timing: new Timing(trace.note) });
      trace.end(answer.status);
      return answer;
    },
  };
}

async function handleTimed(route: CompiledRoute, request: RouteRequest): Promise<RouteAnswer> {
  const { timing = new Timing() } = request;
  const since = performance.now();
  const answer = await route.handle({ ...request, timing });
  const total = performance.now() - since;
  const shown = Object.entries({ db: timing.db, py: timing.py, total }).map(
    ([name, ms]) => `${name};dur=${ms.toFixed(2)}`,
  );
  return { ...answer, headers: { ...answer.headers, "server-timing": shown.join(", ") } };
}
