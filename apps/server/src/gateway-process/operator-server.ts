import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { toProblem } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import { sql } from "kysely";
import { type ControlDatabase, errorFields } from "../database/pool.ts";
import { createProblemLog, healthCode, statusOf } from "../health/problems.ts";
import { hasMetricsToken, noMetricsToken } from "../secrets/metrics-token.ts";
import type { ComposedGateway } from "./compose-gateway.ts";
import type { LogLines } from "./log-lines.ts";
export interface OperatorDeps {
  readonly composed: Pick<ComposedGateway, "metrics" | "gateway">;
  readonly db: ControlDatabase;
  readonly log: Logger;
  /** The operator's token. If undefined, metrics are unavailable. */
  readonly token?: Secret | undefined;
}

/** Data for the server that started the gateway only. */
export interface OperatorSecrets {
  readonly lines: LogLines;
  /** Digest of the settings with which this process was started. */
  readonly digest: string;
}

/**
 * Creates the HTTP server of a gateway process: `/health`, `/ready` and, with the operator's token, `/metrics`. With
 * `secrets`, only its own server connects: it needs no token and has `/about` and `/log` too.
 */
export function createOperatorServer(deps: OperatorDeps, secrets?: OperatorSecrets): Server {
  const json = (res: ServerResponse, status: number, body: object) => {
    res.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
    res.end(JSON.stringify(body));
  };
  const lasting = createProblemLog({ now: Date.now });
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    const { gateway, metrics } = deps.composed;
    const isOperator = secrets !== undefined || hasMetricsToken(req.headers.authorization, deps.token);
    switch (`${req.method} ${req.url}`) {
      case "GET /health": {
        const problems = lasting.note(gateway.problems()).problems;
        const status = statusOf(problems);
        return json(res, healthCode(status), isOperator ? { status, problems } : { status });
      }
      case "GET /ready":
        return json(res, ...(await readiness(deps)));
      case "GET /metrics":
        if (!isOperator) return json(res, 401, toProblem(noMetricsToken(deps.token), randomUUID()));
        res.setHeader("content-type", metrics.contentType);
        return res.end(await metrics.metrics());
    }
    if (secrets !== undefined && req.method === "GET" && req.url === "/about") {
      return json(res, 200, { pid: process.pid, digest: secrets.digest, problems: gateway.problems() });
    }
    if (secrets !== undefined && req.method === "GET" && req.url === "/log") {
      res.writeHead(200, { "content-type": "application/x-ndjson" }).flushHeaders();
      return secrets.lines.follow(res);
    }
    const detail = "A gateway without a control plane serves only GET /health, /ready and /metrics here.";
    return json(res, 404, { code: "not_found", status: 404, detail });
  };
  return createServer((req, res) => {
    answer(req, res).catch((error: unknown) => {
      deps.log.error({ err: error }, "a request failed");
      res.destroy();
    });
  });
}

async function readiness({ db, log }: OperatorDeps): Promise<[number, object]> {
  try {
    await sql`select 1`.execute(db);
    return [200, { status: "ready" }];
  } catch (error) {
    log.warn(errorFields(error), "PostgreSQL does not answer");
    return [503, { status: "not ready" }];
  }
}
