import { toProblem } from "@appdb/contract/errors";
import { type BaseArgs, buildCommand, type Command, type TypedCommandParameters } from "@stricli/core";
import type { Context } from "./context.ts";
import { exitCodeOf } from "./output/exit-codes.ts";
import type { Output } from "./output/output.ts";

/** Flag of every command. */
export interface JsonFlag {
  readonly json: boolean;
}

/** A command in three parts: its parameters, its action, and the display of its result. */
interface CommandDefinition<Flags extends JsonFlag, Args extends BaseArgs, Result> {
  readonly brief: string;
  /** Two or more examples: a complete command line and its purpose. */
  readonly examples: readonly (readonly [command: string, what: string])[];
  readonly parameters: NoInfer<TypedCommandParameters<Omit<Flags, "json">, Args, Context>>;
  /** Returns what `--json` prints. Undefined when the command has already printed its payload. */
  run(ctx: Context, flags: Flags, ...args: Args): Promise<Result>;
  render(result: Exclude<Result, undefined>, out: Output, flags: Flags): void;
  /** Defaults to 0. */
  exitCode?(result: Result, flags: Flags, ctx: Context): number;
}

/**
 * Converts a definition to a command: adds `--json` and the examples, prints the result or the problem, and sets the
 * exit code.
 */
export function defineCommand<Flags extends JsonFlag, Args extends BaseArgs = [], Result = unknown>(
  definition: CommandDefinition<Flags, Args, Result>,
): Command<Context> {
  type AnyFlags = Readonly<Record<string, unknown>>;
  const { flags } = definition.parameters as { flags?: object };
  const json = { kind: "boolean", brief: "Print the result as JSON", default: false } as const;
  // The only place that connects the types of flags and their descriptions by hand. `json` is described here; the
  // compiler has checked the definition's other flags against Flags.
  const parameters = { ...definition.parameters, flags: { ...flags, json } };
  return buildCommand<AnyFlags, Args, Context>({
    docs: { brief: definition.brief, fullDescription: describe(definition) },
    parameters: parameters as unknown as TypedCommandParameters<AnyFlags, Args, Context>,
    func: async function (this: Context, anyFlags: AnyFlags, ...args: Args): Promise<void> {
      const flags = anyFlags as unknown as Flags;
      try {
        const result = await definition.run(this, flags, ...args);
        if (result !== undefined) {
          if (flags.json) this.out.json(result);
          else definition.render(result as Exclude<Result, undefined>, this.out, flags);
        }
        this.process.exitCode = definition.exitCode?.(result, flags, this) ?? 0;
      } catch (error) {
        reportFailure(this, error, flags.json);
      }
    },
  });
}

/** Prints an error for users or programs and sets the exit code. */
function reportFailure(ctx: Pick<Context, "out" | "process" | "has_plan">, error: unknown, json: boolean): void {
  const problem = toProblem(error);
  ctx.out.problem(problem.code === "internal_error" ? { ...problem, ...describeFault(error) } : problem, json);
  ctx.process.exitCode = exitCodeOf(problem.code, ctx.has_plan);
}

/** An internal error of the command. It happened on the user's own machine, so its text is not confidential. */
function describeFault(error: unknown): { detail: string; hint: string } {
  const text = error instanceof Error ? error.message : String(error);
  return {
    detail: `Internal error of the command: ${text}`,
    hint: "Please report it with the command that you ran.",
  };
}

function describe(definition: Pick<CommandDefinition<JsonFlag, [], unknown>, "brief" | "examples">): string {
  const width = Math.max(...definition.examples.map(([command]) => command.length));
  const lines = definition.examples.map(([command, what]) => `  ${command.padEnd(width)}   ${what}`);
  return [definition.brief, "", "EXAMPLES", ...lines].join("\n");
}
