import { AppError, appError } from "@appdb/contract/errors";
import { readServerConfig, SERVER_PATHS } from "./config.ts";
import { fromDatabaseError, openDatabase } from "./database/pool.ts";
import { runningDsn } from "./database/postgres.ts";
import { openHome, openSecret, readRunning } from "./home.ts";
import { createIdentity } from "./identity/identity.ts";
import { createLogger } from "./logger.ts";

/**
 * Prints a link to a new password, for an account of a server that runs: who may start this program may do that.
 * @throws config_invalid, server_unreachable when the server does not run, sign_in_failed without such an account
 */
export async function printResetLink(email: string): Promise<void> {
  const config = readServerConfig();
  const home = openHome(config.home);
  const log = createLogger("error");
  const url = config.public_url ?? readRunning(home);
  if (url === undefined) throw notRunning(home);
  await using database = openDatabase(await runningDsn(config, home, log), log);
  const identity = createIdentity({
    db: database.db,
    log,
    site: { url },
    secret: config.auth_secret ?? openSecret(home, SERVER_PATHS.authSecret, "base64url"),
    oidc: undefined,
    sign_up: config.sign_up,
    mail: undefined,
    verifyKey: async () => undefined,
  });
  const link = await identity.makeResetLink(email).catch((error: unknown) => {
    throw fromDatabaseError(error) instanceof AppError ? notRunning(home, error) : error;
  });
  if (link === undefined) {
    throw appError("sign_in_failed", {
      detail: `There is no account with the address ${JSON.stringify(email)}.`,
      hint: "Look how the address is written.",
    });
  }
  process.stdout.write(`${link}\n`);
}

function notRunning(home: string, cause?: unknown): Error {
  return appError("server_unreachable", {
    detail: `No server of the home ${home} runs.`,
    hint: "Start it first: npm start",
    cause,
  });
}
