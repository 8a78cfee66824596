import { createHash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { isProgramFunction } from "@appdb/contract/program-code";
import type { queryRequestSchema } from "@appdb/contract/routes/data-queries";
import { readDefinitions } from "@appdb/engine/catalog/load-catalog";
import { READS } from "@appdb/engine/catalog/reader-connections";
import { type DataQueryInput, MAX_READS, runDataQuery } from "@appdb/engine/data-queries/run-query";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import { type QueryLimits, RowsInFlight } from "@appdb/engine/sql/query-limits";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import type { z } from "zod";
import type { CreateFillRunner } from "../databases/fill-runner.ts";
import type { RowFiles } from "../databases/row-files.ts";
import type { FindCode } from "./query-code.ts";
import type { QueryWorkers } from "./query-workers.ts";

const IDLE_CONNECTION_MS = 5_000;

export interface DatabaseReadsDeps {
  /** Name of the database in PostgreSQL. */
  readonly database: string;
  readonly dsn: string;
  /** Whether PostgreSQL runs on this machine and is ours, so that its processes may be killed. */
  readonly is_own_server: boolean;
  readonly application_name: string;
  /** Maximum bytes of a row. */
  readonly max_row_bytes: number;
  readonly limits: QueryLimits;
  readonly log: Logger;
  readonly row_files: RowFiles;
  readonly workers: QueryWorkers;
  readonly createRunner: CreateFillRunner;
  readonly findCode: FindCode;
}

/** Ad-hoc queries of a database. They have their own connections: a slow client delays no other work. */
export class DatabaseReads implements AsyncDisposable {
  readonly #deps: DatabaseReadsDeps;
  readonly #inFlight: RowsInFlight;
  #pool: SqlPool | undefined;
  #running = 0;

  constructor(deps: DatabaseReadsDeps) {
    this.#deps = deps;
    this.#inFlight = new RowsInFlight(deps.limits);
  }

  /** @throws overloaded; errors of `runDataQuery` */
  async run(
    request: z.output<typeof queryRequestSchema>,
    { format, send, signal }: Pick<DataQueryInput, "format" | "send" | "signal">,
  ): Promise<void> {
    if (this.#running >= MAX_READS) throw tooMany();
    this.#running += 1;
    const { createRunner, database, findCode, limits, row_files: rowFiles, workers } = this.#deps;
    const sql = this.#open();
    const leases: Disposable[] = [];
    try {
      await runDataQuery(
        {
          sql,
          limits,
          in_flight: this.#inFlight,
          loadCatalog: () => readDefinitions(sql),
          openFiles: () => rowFiles.describer(),
          async code(query, called, embeds) {
            const { functions, runtime_id: runtimeId } = await findCode(request, query, called);
            const used = functions.filter(({ id }) => called.includes(id));
            const programs = embeds.filter(isProgramFunction);
            const modules = [...new Set([...used.map(({ module }) => module), ...programs.map(moduleOf)])];
            const digests = used.map(({ digest, id }) => `${id} ${digest}`).sort();
            const key = createHash("sha256")
              .update([runtimeId, ...digests, ...programs].join("\n"))
              .digest("hex");
            const lease = await workers.lend(`${database}\n${key}`, () =>
              createRunner({ name: database, sql }, runtimeId, modules, refuseQueries),
            );
            leases.push(lease);
            const { runner } = lease;
            return { functions: new Map(functions.map((one) => [one.id, one])), udf: () => runner };
          },
        },
        { query: request.query, timeout_ms: request.timeout_ms, format, send, signal },
      );
    } finally {
      for (const lease of leases) lease[Symbol.dispose]();
      this.#running -= 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool?.[Symbol.asyncDispose]();
  }

  #open(): SqlPool {
    const { application_name: applicationName, dsn, is_own_server: isOwn, limits, log } = this.#deps;
    this.#pool ??= createPgPool({
      dsn,
      // one more for catalogs and versions, while all others wait for their clients
      max: MAX_READS + 1,
      statement_timeout_ms: limits.statement_timeout_ms,
      idle_timeout_ms: IDLE_CONNECTION_MS,
      max_row_bytes: this.#deps.max_row_bytes,
      kills_lost: isOwn,
      application_name: `${applicationName}${READS}`,
      log,
    });
    return this.#pool;
  }
}

function moduleOf(id: string): string {
  return id.slice(0, id.indexOf(":"));
}

/** Only a computed column calls a query from a worker. */
async function refuseQueries(): Promise<never> {
  throw new TypeError("A query of a request runs no queries of an application.");
}

function tooMany(): Error {
  return appError("overloaded", {
    detail: `${MAX_READS} results of the database are being read, the maximum at a time. Nothing was done.`,
    hint: "Read or close one of the others, then send the request again.",
    meta: { limit: "reads", value: MAX_READS },
  });
}
