import type { Query } from "@appdb/contract/query";
import type { ResultColumn } from "@appdb/contract/routes/data-queries";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { loadCatalog } from "../../catalog/load-catalog.ts";
import type { SqlPool, UdfRunner } from "../../ports.ts";
import { RowsInFlight } from "../../sql/query-limits.ts";
import { NDJSON_ROWS } from "../ndjson-rows.ts";
import type { RowsFormat } from "../rows-format.ts";
import { type DataQueryDeps, runDataQuery } from "../run-query.ts";

/** What a test runs queries on. */
export interface QueriedApplication {
  readonly sql: SqlPool;
  readonly udf: () => UdfRunner;
}

export interface ReadOptions extends Partial<Pick<DataQueryDeps, "limits" | "loadCatalog" | "code">> {
  readonly format?: RowsFormat;
  readonly timeout_ms?: number;
  readonly signal?: AbortSignal;
  readonly send?: (message: Uint8Array) => Promise<void>;
}

/** Runs a query of a request, and gives the messages of its result. */
export async function runMessages(
  { sql, udf }: QueriedApplication,
  query: Query,
  options: ReadOptions = {},
): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  const { limits = DEFAULT_LIMITS } = options;
  await runDataQuery(
    {
      sql,
      limits,
      in_flight: new RowsInFlight(limits),
      loadCatalog: options.loadCatalog ?? (() => loadCatalog(sql)),
      code: options.code ?? (async () => ({ functions: (await loadCatalog(sql)).functions, udf })),
      openFiles: async () => (cell) => ({ address: `/file/${JSON.parse(cell).key}` }),
    },
    {
      query,
      timeout_ms: options.timeout_ms,
      format: options.format ?? NDJSON_ROWS,
      signal: options.signal ?? new AbortController().signal,
      send:
        options.send ??
        (async (message) => {
          messages.push(Buffer.from(message));
        }),
    },
  );
  return messages;
}

export interface TextResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly (readonly unknown[])[];
  readonly done: { readonly count: number };
}

/** The same as one result, from NDJSON. */
export async function readResult(
  app: QueriedApplication,
  query: Query,
  options: ReadOptions = {},
): Promise<TextResult> {
  const messages = await runMessages(app, query, options);
  const parsed = messages.map((message) => JSON.parse(message.toString()));
  return {
    columns: parsed[0].columns,
    rows: parsed.flatMap(({ rows = [] }) => rows),
    done: parsed.at(-1).done,
  };
}
