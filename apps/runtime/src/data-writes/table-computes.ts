import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import type { Manifest } from "@appdb/contract/manifest";
import type { BodyLimit } from "@appdb/contract/service-limits";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import { computeService } from "@appdb/engine/endpoints/table-routes";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import type { EndpointsDeps } from "@appdb/engine/routes/route-context";

/** Combinations of table, outputs and error handling that stay open. */
const MAX_OPEN = 32;

export interface ComputedRows {
  /** A table or view of the manifest. */
  readonly name: string;
  /** Names of columns that the response has. */
  readonly outputs: readonly string[];
  readonly on_error: OnError;
}

export interface TableComputesInput {
  /** Without services. */
  readonly manifest: Manifest;
  /** The tables' location as users write it. */
  readonly target: string;
  readonly limits: ServiceSpec["limits"] & BodyLimit;
}

/** Routes by which people compute rows without storing them. Each is opened by its first request. */
export class TableComputes implements AsyncDisposable {
  readonly #deps: EndpointsDeps;
  readonly #input: TableComputesInput;
  readonly #opened = new Map<string, Promise<Endpoints>>();
  readonly #closing = new Set<Promise<void>>();

  constructor(deps: EndpointsDeps, input: TableComputesInput) {
    this.#deps = deps;
    this.#input = input;
  }

  /** @throws as `openEndpoints` */
  async route(rows: ComputedRows): Promise<CompiledRoute> {
    const key = JSON.stringify([rows.name, rows.on_error, rows.outputs]);
    const opening = this.#opened.get(key) ?? this.#open(rows);
    // the last one used is the last to be closed
    this.#opened.delete(key);
    this.#opened.set(key, opening);
    opening.catch(() => this.#opened.get(key) === opening && this.#opened.delete(key));
    // An evicted route still answers its requests, and each of them waits for its own rows.
    for (const [oldest, evicted] of this.#opened) {
      if (this.#opened.size <= MAX_OPEN) break;
      this.#opened.delete(oldest);
      this.#close(evicted);
    }
    const [route] = (await opening).routes;
    if (route === undefined) throw new TypeError(`${rows.name} has no compute route.`);
    return route;
  }

  #open(rows: ComputedRows): Promise<Endpoints> {
    const { limits, manifest, target } = this.#input;
    const service = computeService(manifest, rows);
    return openEndpoints(this.#deps, {
      manifest: { ...manifest, services: [service] },
      target,
      services: [service.name],
      limits,
    });
  }

  #close(opening: Promise<Endpoints>): void {
    const closing = opening
      .then(
        (endpoints) => endpoints[Symbol.asyncDispose](),
        // its request has the error
        () => undefined,
      )
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, "closing a compute route failed"))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opening of this.#opened.values()) this.#close(opening);
    this.#opened.clear();
    await Promise.all(this.#closing);
  }
}

/** The outputs, each once. @throws column_not_found for one that the table does not have */
export function outputsOf(table: string, asked: readonly string[], known: readonly string[]): readonly string[] {
  const outputs = [...new Set(asked)];
  const missing = outputs.find((name) => !known.includes(name));
  if (missing === undefined) return outputs;
  throw appError("column_not_found", {
    detail: `${table} has no column ${missing}.`,
    hint: `Its columns are ${known.join(", ")}.`,
    meta: { table, column: missing },
  });
}
