import type { CorsRule } from "@appdb/http/cors";

interface Known {
  readonly methods: readonly string[];
  readonly cors: CorsRule;
  /** Pattern of a path with parameters. */
  readonly pattern: RegExp | undefined;
}

/** Methods that a path supports, and the CORS rule of its service. */
export class PathMethods {
  readonly #known = new Map<string, Known>();

  add(method: string, path: string, cors: CorsRule = null): void {
    const known = this.#known.get(path);
    // Fastify answers HEAD for every GET route.
    const added = method === "GET" ? ["GET", "HEAD"] : [method];
    const pattern = path.includes("{") ? patternOf(path) : undefined;
    this.#known.set(path, { methods: [...new Set([...(known?.methods ?? []), ...added])], cors, pattern });
  }

  methodsOf(path: string): readonly string[] {
    return this.#find(path)?.methods ?? [];
  }

  corsOf(path: string): CorsRule {
    return this.#find(path)?.cors ?? null;
  }

  names(): Iterable<string> {
    return this.#known.keys();
  }

  #find(path: string): Known | undefined {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    for (const one of this.#known.values()) if (one.pattern?.test(path)) return one;
    return undefined;
  }
}

function patternOf(path: string): RegExp {
  const parts = path.split("/").map((part) => (part.startsWith("{") ? "[^/]+" : part.replace(/[.~]/g, "\\$&")));
  return new RegExp(`^${parts.join("/")}$`);
}
