import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";
import { answerError, type RouteAnswer } from "../answers/answers.ts";
import type { Logger } from "../ports.ts";
import type { CompiledRoute } from "../routes/route.ts";

/**
 * The route, of which so many requests wait for their answer at a time (of one that streams: for its head); more are refused at
 * once with `overloaded`, so that a slow route leaves the service to the others.
 */
export function withBound(route: CompiledRoute, most: number, log: Logger): CompiledRoute {
  const { method, path } = route;
  let waiting = 0;
  const ended = (answer: RouteAnswer): RouteAnswer => {
    waiting -= 1;
    return answer;
  };
  return {
    ...route,
    handle(request) {
      if (waiting >= most) {
        return Promise.resolve(answerError(tooMany(`${method} ${path}`, most), request.id, log));
      }
      waiting += 1;
      // The handler never rejects.
      return route.handle(request).then(ended);
    },
  };
}

function tooMany(route: string, most: number): Error {
  return appError("overloaded", {
    detail: `${most} requests to ${route} wait for their answer already, the most that one route may have. Nothing was done.`,
    hint: `Send the request again in a moment; for more at a time, raise ${limitVariable("route_requests")}.`,
    meta: { route, limit: "route_requests", value: most },
  });
}
