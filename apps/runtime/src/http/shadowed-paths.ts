import type { CompiledRoute } from "@appdb/engine/routes/route";
import { PathMethods } from "./path-methods.ts";

/** A method that a fixed path does not support but a parameter route would match. */
export interface Shadowed {
  readonly method: string;
  readonly path: string;
}

/**
 * With `/items/first` and `/items/{id}`, the fixed path is the only match. Methods that it does not support are not
 * meant for an item named `first`.
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
