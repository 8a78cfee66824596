import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { findProject, mentionsService } from "../../project/find-project.ts";
import { extendPyproject, SERVICE_TOML } from "../../project/init-text.ts";

interface InitResult {
  readonly project_root: string;
  /** Absolute path. */
  readonly config_file: string;
  /** False when the folder already was a project. */
  readonly created: boolean;
}

/** Never changes existing lines: extends a pyproject.toml at its end and leaves an existing project unchanged. */
export const init = defineCommand<JsonFlag, [], InitResult>({
  brief: "Make this folder the root of a project",
  examples: [
    ["cli init", "write service.toml, or extend an existing pyproject.toml"],
    ["cli init --json", "say where the project is, for a program"],
  ],
  parameters: {},
  run: async (ctx) => {
    const folder = realpathSync(ctx.cwd);
    const found = findProject(folder);
    if (found?.root === folder) {
      return { project_root: folder, config_file: join(folder, found.config_file), created: false };
    }
    if (found !== undefined) {
      throw appError("project_exists", {
        detail: `${folder} is inside the project ${found.root}; nothing was written.`,
        hint: `Use that project, or start outside it. Its configuration: ${join(found.root, found.config_file)}`,
        meta: { project_root: found.root },
      });
    }
    const pyproject = join(folder, "pyproject.toml");
    const configFile = existsSync(pyproject) ? pyproject : join(folder, "service.toml");
    write(configFile, configFile === pyproject ? await extend(pyproject) : SERVICE_TOML);
    return { project_root: folder, config_file: configFile, created: true };
  },
  render: (result, out) => {
    out.line(`project root: ${result.project_root}`);
    if (!result.created) {
      out.line(`It is already a project: ${result.config_file}`);
      return;
    }
    out.line(`wrote ${result.config_file}`);
    out.line();
    const written = existsSync(join(result.project_root, "app.py"));
    out.line(`Next: cli ${written ? "schema update app.py main" : "service example --out app.py"}`);
  },
});

/**
 * The new text of a pyproject.toml, checked before it is written.
 * @throws config_invalid for invalid TOML, or when no entry can be added
 */
async function extend(path: string): Promise<string> {
  const { parseToml, readConfig } = await import("../../project/read-config.ts");
  const before = readFileSync(path, "utf8");
  parseToml("pyproject.toml", before);
  const after = extendPyproject(before);
  if (mentionsService(after)) {
    readConfig({ config_file: "pyproject.toml", text: after });
    return after;
  }
  throw new Error("The entry that was appended to pyproject.toml is not found in it.");
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw appError("config_invalid", {
      detail: `${path} cannot be written: ${cause instanceof Error ? cause.message : cause}.`,
      hint: "Make the folder writable, or go to one that you own.",
      cause,
    });
  }
}
