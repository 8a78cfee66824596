/**
 * One program around the engine. Its first argument selects the role. `local`: the daemon of a home, started by the
 * command (roles/local.ts). `service <spec file>`: HTTP routes, started by the daemon and by `service run`
 * (roles/service.ts). `database`: a hosted database, started by a pod driver (roles/database.ts). `service-pod`: a
 * hosted service (roles/service-pod.ts). `check`: checks a manifest without a database, started by `schema check`
 * (roles/check.ts). Each role loads only its own modules.
 */
import { runMain } from "@appdb/system/processes/run-main";

const [role, file] = process.argv.slice(2);

async function run(): Promise<number> {
  if (role === "local") {
    const { runLocal } = await import("./roles/local.ts");
    // services run this program in another role with the same Node
    return await runLocal({ file: process.argv[1] ?? "", node_options: process.execArgv });
  }
  if (role === "service" && file !== undefined) {
    const { runServiceRole: runService } = await import("./roles/service.ts");
    return await runService(file);
  }
  if (role === "database") {
    const { runDatabaseRole: runDatabase } = await import("./roles/database.ts");
    return await runDatabase();
  }
  if (role === "service-pod") {
    const { runServicePod } = await import("./roles/service-pod.ts");
    return await runServicePod();
  }
  if (role === "check") {
    const { runCheck } = await import("./roles/check.ts");
    return await runCheck();
  }
  process.stderr.write(
    "error: The roles are: local, service <spec file>, database, service-pod, check\nhint: Use the command cli; it starts this program.\n",
  );
  return 2;
}

runMain(run);
