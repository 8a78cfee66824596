import { appError } from "@appdb/contract/errors";
import type { ManifestQuery } from "@appdb/contract/manifest";
import type { EngineValue } from "@appdb/contract/types";
import { withPlainAddresses } from "../answers/media-addresses.ts";
import { RowsInFlight } from "../sql/query-limits.ts";
import { createAsker, type QueryAsker } from "./query-asker.ts";
import { QueryRunner, type QueryRunnerDeps } from "./query-runner.ts";
import { compileParameters, type ParameterReader } from "./read-parameters.ts";

export interface OpenQuery {
  readonly query: ManifestQuery;
  readonly runner: QueryRunner;
  readonly asker: QueryAsker;
  /** Reads all parameters, whatever the route's inputs are. */
  readonly parameters: ParameterReader;
}

/** The queries of an application, each compiled on first use. */
export class OpenQueries {
  readonly #deps: QueryRunnerDeps;
  readonly #queries: ReadonlyMap<string, ManifestQuery>;
  readonly #open = new Map<string, OpenQuery>();

  constructor(deps: Omit<QueryRunnerDeps, "in_flight">, queries: readonly ManifestQuery[]) {
    this.#deps = { ...deps, in_flight: new RowsInFlight(deps.limits) };
    this.#queries = new Map(queries.map((query) => [query.id, query]));
  }

  /** @throws query_not_found, app_invalid */
  open(id: string): OpenQuery {
    const known = this.#open.get(id);
    if (known !== undefined) return known;
    const query = this.#queries.get(id);
    if (query === undefined) {
      throw appError("query_not_found", {
        detail: `The application declares no query ${id}.`,
        hint: `It declares: ${[...this.#queries.keys()].join(", ") || "none"}.`,
        meta: { query: id },
      });
    }
    const runner = new QueryRunner(this.#deps, query);
    const asker = createAsker(this.#deps.sql, runner);
    const opened = { query, runner, asker, parameters: compileParameters(query.parameters) };
    this.#open.set(id, opened);
    return opened;
  }

  /** Runs the query of a computed column. Returns its rows as the JSON text of a list, with `addresses` in place of
   *  references to media. @throws as QueryRunner.run */
  async answer(
    id: string,
    args: Readonly<Record<string, EngineValue>>,
    addresses: (text: string) => string = withPlainAddresses,
  ): Promise<EngineValue> {
    const { asker, parameters } = this.open(id);
    const { text } = await asker.ask(parameters.fromValues(args));
    return addresses(`[${text}]`);
  }

  /** Resolves when no read waits. */
  async drain(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ asker }) => asker.drain()));
  }
}
