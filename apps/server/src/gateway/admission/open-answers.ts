import type { Logger } from "@appdb/engine/ports";
import { keyAllows } from "@appdb/system/keys/key-verifier";
import type { Exchange } from "../exchange/exchange.ts";
import { shownText } from "../exchange/shown-key.ts";
import type { DatabaseKeys } from "../routing/database-keys.ts";
import { findServiceById, type RoutingTable } from "../routing/routing-table.ts";

const LOOK_MS = 1_000;

export interface OpenAnswersDeps {
  readonly log: Logger;
  readonly keys: Pick<DatabaseKeys, "verify">;
  readonly table: Pick<RoutingTable, "byId">;
}

/** Ends streaming answers, such as live queries, when their key loses access. */
export interface OpenAnswers extends Disposable {
  /** Checks the key of an answer each second, until the returned function is called. */
  follow(exchange: Exchange): () => void;
}

export function createOpenAnswers(deps: OpenAnswersDeps): OpenAnswers {
  const open = new Set<Exchange>();
  const timer = setInterval(() => {
    for (const exchange of open) void endIfRefused(deps, exchange);
  }, LOOK_MS).unref();
  return {
    follow(exchange) {
      // signed addresses have no key, and expire
      if (exchange.key !== "") open.add(exchange);
      return () => void open.delete(exchange);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

async function endIfRefused(deps: OpenAnswersDeps, exchange: Exchange): Promise<void> {
  try {
    if (await isAllowed(deps, exchange)) return;
    deps.log.info({ req: exchange.id, db: exchange.database?.id }, "a streaming answer ended: its key has no access");
  } catch (error) {
    deps.log.error({ err: error, req: exchange.id }, "the key of a streaming answer could not be checked");
  }
  exchange.res.destroy();
}

async function isAllowed({ keys, table }: OpenAnswersDeps, exchange: Exchange): Promise<boolean> {
  const database = exchange.database && table.byId(exchange.database.id);
  if (database === undefined || database.is_suspended === true) return false;
  const service = findServiceById(database, exchange.service_id);
  if (service === undefined) return false;
  const verified = await keys.verify(database, shownText(exchange.req) ?? "");
  const need = { verb: "access", organization: database.organization, database: database.name } as const;
  return verified.outcome === "good" && keyAllows(verified.key, { ...need, service: service.name });
}
