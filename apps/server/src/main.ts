/**
 * The hosted service: control plane, reconciler and gateway in one process, or the roles that SERVICE_ROLES names.
 * `reset-link <address>`, beside a server that runs, prints a link to a new password: for servers without mail.
 */
import { runMain } from "@appdb/adapters/processes/run-main";

async function run(): Promise<number> {
  const [verb, ...rest] = process.argv.slice(2);
  if (verb === undefined) {
    const { runServer } = await import("./run-server.ts");
    await runServer();
    return 0;
  }
  if (verb === "reset-link" && rest.length === 1) {
    const { printResetLink } = await import("./reset-link.ts");
    await printResetLink(rest[0] ?? "");
    return 0;
  }
  process.stderr.write(
    `error: ${[verb, ...rest].join(" ")} is no command of the server\nhint: Start it without arguments, or: server.js reset-link ann@example.com\n`,
  );
  return 2;
}

runMain(run);
