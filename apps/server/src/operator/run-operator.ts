import { AppError, appError } from "@appdb/contract/errors";
import { type OperatorAct, type OperatorAnswer, operatorRequestSchema } from "@appdb/contract/operator";
import { sql } from "kysely";
import { addDeliveries } from "../audit/add-deliveries.ts";
import { BY_OPERATOR } from "../audit/event.ts";
import { createRecordEvent } from "../audit/record-event.ts";
import { readServerConfig, SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import { openSecret, openServerHome, readRunning } from "../config/server-home.ts";
import type { OperatorTx } from "../control-plane/organizations/operator-caller.ts";
import { resumeOrganization, suspendOrganization } from "../control-plane/organizations/suspend-organization.ts";
import { controlFormat, readControlMigrations } from "../database/migrate.ts";
import { type ControlDatabase, fromDatabaseError, openControlDatabase } from "../database/pool.ts";
import { runningDsn } from "../database/postgres.ts";
import { createIdentity } from "../identity/identity.ts";
import { createServerLogger } from "../lifecycle/server-logger.ts";
import { findDiskProblem, listOperatedDatabases, listOperatedOrgs, readStatus } from "./read-server.ts";
import { retryFailed } from "./retry-failed.ts";
import { rotateMasterKey } from "./rotate-master-key.ts";
import { setQuota } from "./set-quota.ts";
import { unreachable } from "./unreachable.ts";

/**
 * Runs one request of the operator on the home's files and its PostgreSQL. Access to these is the authorization.
 * Reconcilers and gateways react to rows and jobs, as for API requests.
 * @throws config_invalid, invalid_request, server_unreachable when PostgreSQL does not answer, catalog_too_new, the
 * request's own errors
 */
export async function runOperator(requestedAct: unknown): Promise<OperatorAnswer<OperatorAct>> {
  const parsed = operatorRequestSchema.safeParse(requestedAct);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ message, path }) => `${path.join(".")}: ${message}`).join("; ");
    throw appError("invalid_request", {
      detail: `Invalid operator request: ${problems}.`,
      hint: "For the possible requests, see: cli server --help",
    });
  }
  const request = parsed.data;
  const found = readServerConfig();
  const config = { ...found, home: openServerHome(found.home) };
  // the only request that needs no PostgreSQL
  if (request.act === "rotate-master-key") return rotateMasterKey(config);
  const log = createServerLogger("error");
  await using database = openControlDatabase(await runningDsn(config, config.home, log), log, 2);
  const { db } = database;
  const recordEvent = createRecordEvent(addDeliveries);
  const change = <Answer>(act: (write: OperatorTx) => Promise<Answer>) =>
    db.transaction().execute((tx) => act({ tx, recordEvent }));
  try {
    await refuseOtherVersion(db);
    switch (request.act) {
      case "status":
        return await readStatus(db, { config });
      case "orgs":
        return { organizations: await listOperatedOrgs(db) };
      case "databases":
        return {
          databases: await listOperatedDatabases(db, request.org),
          disk_problem: await findDiskProblem({ config }),
        };
      case "retry":
        return await retryFailed({ db, recordEvent, config }, request.org);
      case "suspend":
        return await change((write) => suspendOrganization(write, request.org, request.reason));
      case "resume":
        return await change((write) => resumeOrganization(write, request.org));
      case "quota":
        return await change((write) => setQuota(write, request.org, request.databases));
      case "reset-link":
        return { link: await makeResetLink(config, db, request.email) };
    }
  } catch (error) {
    const known = fromDatabaseError(error);
    if (known === error || !(known instanceof AppError)) throw error;
    throw known.code === "disk_full" ? known : unreachable(config, error);
  }
}

/**
 * Creates a password reset link of a running server, with an event.
 * @throws server_unreachable when the server has no address yet, sign_in_failed without such an account
 */
async function makeResetLink(config: ServerConfig, db: ControlDatabase, email: string): Promise<string> {
  const url = config.public_url ?? readRunning(config.home);
  if (url === undefined) throw unreachable(config);
  const identity = createIdentity({
    db,
    log: createServerLogger("error"),
    site: { url },
    oidc: undefined,
    mail: undefined,
    secret: config.auth_secret ?? openSecret(config.home, SERVER_PATHS.authSecret, "base64url"),
    sign_up: config.sign_up,
    session_lives: { browser_s: config.identity.browser_session_s, cli_s: config.identity.cli_session_s },
    verifyKey: async () => undefined,
  });
  const link = await identity.makeResetLink(email);
  if (link === undefined) {
    throw appError("sign_in_failed", {
      detail: `No account has the address ${JSON.stringify(email)}.`,
      hint: "Check the spelling of the address.",
    });
  }
  await createRecordEvent(addDeliveries)(db, { action: "account.reset_link", target: email, ...BY_OPERATOR });
  return link;
}

/** @throws catalog_too_new, upgrade_failed: rows of another version may have another meaning */
async function refuseOtherVersion(db: ControlDatabase): Promise<void> {
  const { newest } = controlFormat(readControlMigrations());
  const { rows } = await sql<{ number: number }>`select max(number) as number from control.migrations`.execute(db);
  const number = rows[0]?.number ?? 0;
  if (number === newest) return;
  throw appError(number > newest ? "catalog_too_new" : "upgrade_failed", {
    detail: `The server's database has migration ${number}, but this program's newest is ${newest}: their versions differ.`,
    hint: "Use the CLI of the installation that the server runs from.",
    meta: { found: number, known: newest },
  });
}
