import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";
import { answerError, type RouteAnswer } from "../answers/answers.ts";
import type { Logger } from "../ports.ts";
import type { CompiledRoute } from "../routes/route.ts";

/**
 * The route with a limit on concurrent requests. For a streaming route, a request counts until its head is sent.
 * Requests above the limit fail at once with `overloaded`, so that a slow route does not block the service.
 */
export function withBound(route: CompiledRoute, max: number, log: Logger): CompiledRoute {
  const { method, path } = route;
  let waiting = 0;
  const ended = (answer: RouteAnswer): RouteAnswer => {
    waiting -= 1;
    return answer;
  };
  return {
    ...route,
    handle(request) {
      if (waiting >= max) {
        return Promise.resolve(answerError(tooMany(`${method} ${path}`, max), request.id, log));
      }
      waiting += 1;
      // The handler never rejects.
      return route.handle(request).then(ended);
    },
  };
}

function tooMany(route: string, max: number): Error {
  return appError("overloaded", {
    detail: `${max} requests to ${route} are already in progress, the maximum of one route. Nothing was done.`,
    hint: `Send the request again in a moment. To allow more concurrent requests, raise ${limitVariable("route_requests")}.`,
    meta: { route, limit: "route_requests", value: max },
  });
}
