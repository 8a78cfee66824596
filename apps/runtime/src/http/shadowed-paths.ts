import type { CompiledRoute } from "@appdb/engine/routes/route";
import { PathMethods } from "./path-methods.ts";

/** A method that a written out path does not answer, and that would go to a route with a parameter in its place. */
export interface Shadowed {
  readonly method: string;
  readonly path: string;
}

/**
 * Of `/items/first` and `/items/{id}` the former is all there is at its path: what it does not answer is not meant for an item
 * that is called `first`.
 */
export function findShadowed(routes: readonly Pick<CompiledRoute, "method" | "path">[]): readonly Shadowed[] {
  const known = new PathMethods();
  for (const { method, path } of routes) known.add(method, path);
  const withParameters = routes.filter(({ path }) => path.includes("{"));
  const found = new Map<string, Shadowed>();
  for (const path of known.names()) {
    if (path.includes("{") || path.includes("*")) continue;
    const own = known.methodsOf(path);
    for (const { method, path: pattern } of withParameters) {
      const one = new PathMethods();
      one.add(method, pattern);
      if (!own.includes(method) && one.methodsOf(path).length > 0) found.set(`${method} ${path}`, { method, path });
    }
  }
  return [...found.values()];
}
