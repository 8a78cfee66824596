import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import { INPUT_DESTINATION, MEDIA_SOURCES, OUTPUT_DESTINATION } from "@appdb/contract/media-variables";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { showControls } from "../../output/show-controls.ts";

/** A setting in force, and where it comes from. */
interface Setting {
  readonly name: string;
  /** `***` for a secret; null if it is not set. */
  readonly value: string | null;
  readonly source: "environment" | "file" | "default";
  /** The variable or the file; null for a default. */
  readonly from: string | null;
}

const MASK = "***";

/** Variables of the daemon and of applications, with their defaults. The daemon reads them when it starts. */
const VARIABLES: readonly (readonly [name: string, variable: string, fallback: string | null])[] = [
  ["log_level", "SERVICE_LOG_LEVEL", "info"],
  ["pg_bin", "SERVICE_PG_BIN", null],
  ["input_media_dest", INPUT_DESTINATION, null],
  ["output_media_dest", OUTPUT_DESTINATION, null],
  ["media_sources", MEDIA_SOURCES, null],
];

export const config = defineCommand<JsonFlag, [], readonly Setting[]>({
  brief: "Show the settings and where each comes from",
  examples: [
    ["cli config", "home, server, credential and project, secrets as ***"],
    ["cli config --json", "the same for a program"],
  ],
  parameters: {},
  run: async (ctx) => {
    const env = ctx.config.daemon_env;
    const home = ofVariable("home", "SERVICE_HOME", env["SERVICE_HOME"], ctx.config.home);
    const ofDaemon = VARIABLES.map(([name, variable, fallback]) => ofVariable(name, variable, env[variable], fallback));
    return [
      { ...home, value: ctx.config.home },
      ...(await findAccess(ctx)),
      await findProjectSetting(ctx.cwd),
      secretOf("local_database_url", "SERVICE_LOCAL_DATABASE_URL", env["SERVICE_LOCAL_DATABASE_URL"]),
      ...ofDaemon,
    ];
  },
  render: (settings, out) => {
    const lines = settings.map(({ from, name, source, value }) => [
      name,
      value === null ? "not set" : showControls(value),
      from === null ? source : `${source} ${showControls(from)}`,
    ]);
    for (const line of alignColumns(lines)) out.line(line);
    out.note("The daemon has its settings from its start: cli daemon restart. Limits in force: cli limits");
  },
});

function ofVariable(name: string, variable: string, value: string | undefined, fallback: string | null): Setting {
  const isSet = value !== undefined && value !== "";
  return isSet
    ? { name, value, source: "environment", from: variable }
    : { name, value: fallback, source: "default", from: null };
}

function secretOf(name: string, variable: string, value: string | undefined): Setting {
  const setting = ofVariable(name, variable, value, null);
  return { ...setting, value: setting.value === null ? null : MASK };
}

/** The server and the credential of commands. @throws config_invalid */
async function findAccess(ctx: Context): Promise<readonly Setting[]> {
  const control = await ctx.control();
  const server = await control.findServer().catch((error: unknown) => {
    if (error instanceof AppError && error.code === "server_unreachable") return undefined;
    throw error;
  });
  if (server === undefined) {
    return [
      { name: "api_url", value: null, source: "default", from: null },
      secretOf("api_key", "SERVICE_API_KEY", ctx.config.api_key),
    ];
  }
  const credential = await control.findCredential(server);
  const name = credential?.kind === "session" ? "sign_in" : "api_key";
  return [
    { name: "api_url", value: server.url, ...placeOf(server.source) },
    credential === undefined
      ? { name, value: null, source: "default", from: null }
      : { name, value: MASK, ...placeOf(credential.source) },
  ];
}

/** Where a setting is from, by the text that names its source: a variable or a file. */
function placeOf(source: string): Pick<Setting, "source" | "from"> {
  return { source: /^SERVICE_\w+$/.test(source) ? "environment" : "file", from: source };
}

async function findProjectSetting(cwd: string): Promise<Setting> {
  const { findProject } = await import("../../project/find-project.ts");
  const project = findProject(cwd);
  if (project === undefined) return { name: "project", value: null, source: "default", from: null };
  return { name: "project", value: project.root, source: "file", from: join(project.root, project.config_file) };
}
