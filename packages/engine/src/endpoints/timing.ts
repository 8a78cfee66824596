import { performance } from "node:perf_hooks";
import { Timing } from "../timing.ts";
import type { RouteAnswer } from "./answers.ts";
import { readPreferences } from "./prefer.ts";
import type { CompiledRoute, RouteRequest } from "./route.ts";

/** The route, which says in a `Server-Timing` header where the time went when the client sends `Prefer: timing`. */
export function withTiming(route: CompiledRoute): CompiledRoute {
  return {
    ...route,
    handle(request) {
      const isWanted = request.headers.prefer !== undefined && readPreferences(request.headers).has("timing");
      return isWanted ? handleTimed(route, request) : route.handle(request);
    },
  };
}

async function handleTimed(route: CompiledRoute, request: RouteRequest): Promise<RouteAnswer> {
  const timing = new Timing();
  const since = performance.now();
  const answer = await route.handle({ ...request, timing });
  const total = performance.now() - since;
  const shown = Object.entries({ db: timing.db, py: timing.py, total }).map(
    ([name, ms]) => `${name};dur=${ms.toFixed(2)}`,
  );
  return { ...answer, headers: { ...answer.headers, "server-timing": shown.join(", ") } };
}
