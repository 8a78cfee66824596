/** Which methods a path answers. */
export class PathMethods {
  readonly #methods = new Map<string, string[]>();

  add(method: string, path: string): void {
    const known = this.#methods.get(path) ?? [];
    // Fastify answers HEAD wherever it answers GET.
    const added = method === "GET" ? ["GET", "HEAD"] : [method];
    this.#methods.set(path, [...new Set([...known, ...added])]);
  }

  methodsOf(path: string): readonly string[] {
    return this.#methods.get(path) ?? [];
  }

  names(): Iterable<string> {
    return this.#methods.keys();
  }
}
