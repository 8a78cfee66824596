import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { AppError, ERRORS } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { homeError } from "@appdb/contract/home-error";
import { VERSION } from "@appdb/contract/version";
import { probePython } from "@appdb/python-runtime/images/probe-python";
import { locateTools } from "@appdb/system/tools/locate-tools";
import type { CliConfig } from "../config/config.ts";
import type { MachineCheck } from "../context.ts";
import { findDaemon } from "../daemon/ensure-daemon.ts";
import type { Program } from "../program.ts";

const OLDEST_NODE = [20, 19] as const;

export interface CheckMachineDeps {
  readonly config: Pick<CliConfig, "home" | "application_env" | "daemon_env">;
  readonly program: Pick<Program, "url">;
}

/** Checks the requirements of an installation. Starts and changes nothing. */
export async function checkMachine(deps: CheckMachineDeps): Promise<MachineCheck[]> {
  const { config, program } = deps;
  const tools = locateTools({ program_url: program.url, postgres_bin: config.daemon_env["SERVICE_PG_BIN"] });
  return [
    checkNode(process.versions.node),
    await checkPython(config, tools.base_python),
    checkPostgres(config.daemon_env["SERVICE_LOCAL_DATABASE_URL"], tools.postgres_bin),
    {
      name: "uv",
      ok: tools.uv !== undefined,
      detail: tools.uv ?? "missing: projects with uv.lock or requirements.txt cannot be built",
      hint: tools.uv === undefined ? "Install it with: pip install 'appdb[serve]'" : null,
    },
    checkHome(config.home),
    await checkDaemon(config),
  ];
}

function checkNode(version: string): MachineCheck {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const ok = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  return { name: "node", ok, detail: version, hint: ok ? null : `Install Node ${OLDEST_NODE.join(".")} or newer.` };
}

async function checkPython(config: CheckMachineDeps["config"], python: string | undefined): Promise<MachineCheck> {
  const hint = "Install Python 3.11 or newer, then: pip install 'appdb[serve]'";
  if (python === undefined) return { name: "python", ok: false, detail: "missing from this installation", hint };
  try {
    const env = { ...config.application_env };
    const facts = await probePython({ python, cache_folder: `${config.home}/${HOME_PATHS.pythons}`, env });
    return { name: "python", ok: true, detail: `${facts.version.join(".")} (${python})`, hint: null };
  } catch (error) {
    // The probe caches its result in the home, which the system may refuse.
    const isOfHome = (error as NodeJS.ErrnoException).path?.startsWith(config.home) === true;
    const known = isOfHome ? homeError(config.home, error) : error;
    if (!(known instanceof AppError)) throw error;
    return { name: isOfHome ? "home" : "python", ok: false, detail: known.message, hint: known.hint ?? hint };
  }
}

function checkPostgres(url: string | undefined, bin: string | undefined): MachineCheck {
  const name = "postgres";
  if (url) return { name, ok: true, detail: "your own server, SERVICE_LOCAL_DATABASE_URL", hint: null };
  if (bin !== undefined && existsSync(bin)) return { name, ok: true, detail: bin, hint: null };
  return {
    name,
    ok: false,
    detail: bin === undefined ? "missing from this installation" : `there is no folder ${bin}`,
    hint: "Install it with pip install 'appdb[serve]', or set SERVICE_LOCAL_DATABASE_URL to a PostgreSQL 18 with pgvector.",
  };
}

function checkHome(home: string): MachineCheck {
  // A missing home is created in its nearest existing parent.
  let folder = home;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return { name: "home", ok: true, detail: home, hint: null };
  } catch {
    const hint = "Set SERVICE_HOME to a folder that you own.";
    return { name: "home", ok: false, detail: `${home} cannot be written`, hint };
  }
}

async function checkDaemon(config: CheckMachineDeps["config"]): Promise<MachineCheck> {
  const name = "daemon";
  try {
    const found = await findDaemon({ config });
    if (found === undefined) return { name, ok: true, detail: "not running; it starts automatically", hint: null };
    const { version, pid, postgres, postgres_failure: failure } = found.health;
    const detail = `runs (process ${pid}, version ${version}, PostgreSQL ${postgres})`;
    if (version !== VERSION) return { name, ok: false, detail, hint: "Replace it: cli daemon restart" };
    // a daemon of an earlier version tells none
    if (failure != null) return { name, ok: false, failed: true, ...failure };
    const down = postgres === "down";
    return { name, ok: !down, failed: down, detail, hint: down ? `See ${HOME_PATHS.daemonLog} in the home.` : null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, hint, message } = error;
    const detail = code === "daemon_hung" ? message : `${ERRORS[code].title}: ${message}`;
    return { name, ok: false, failed: true, detail, hint: hint ?? null };
  }
}
