import { toProblem } from "@appdb/contract/errors";
import { type BaseArgs, buildCommand, type Command, type TypedCommandParameters } from "@stricli/core";
import type { Context } from "./context.ts";
import { exitCodeOf } from "./output/exit-codes.ts";
import type { Output } from "./output/output.ts";

/** Every command has it. */
export interface JsonFlag {
  readonly json: boolean;
}

/** A command in three parts: what it takes, what it does, how a person reads the result. */
interface CommandDefinition<Flags extends JsonFlag, Args extends BaseArgs, Result> {
  readonly brief: string;
  /** Two or more, each a whole command line with a word on what it does. */
  readonly examples: readonly (readonly [command: string, what: string])[];
  readonly parameters: NoInfer<TypedCommandParameters<Omit<Flags, "json">, Args, Context>>;
  /** Returns what `--json` prints; undefined when the command has written its payload itself. */
  run(ctx: Context, flags: Flags, ...args: Args): Promise<Result>;
  render(result: Exclude<Result, undefined>, out: Output, flags: Flags): void;
  /** 0 unless it says otherwise. */
  exitCode?(result: Result, flags: Flags, ctx: Context): number;
}

/** Turns a definition into a command: adds `--json` and the examples, prints the result or the problem, sets the exit
 *  code. */
export function defineCommand<Flags extends JsonFlag, Args extends BaseArgs = [], Result = unknown>(
  definition: CommandDefinition<Flags, Args, Result>,
): Command<Context> {
  type AnyFlags = Readonly<Record<string, unknown>>;
  const { flags } = definition.parameters as { flags?: object };
  const json = { kind: "boolean", brief: "Print the result as JSON", default: false } as const;
  // The one place where the types of the flags and of the parser's description of them are tied by hand: `json` is
  // described here, all else by the definition, which the compiler has checked against Flags.
  const parameters = { ...definition.parameters, flags: { ...flags, json } };
  return buildCommand<AnyFlags, Args, Context>({
    docs: { brief: definition.brief, fullDescription: describe(definition) },
    parameters: parameters as unknown as TypedCommandParameters<AnyFlags, Args, Context>,
    func: async function (this: Context, given: AnyFlags, ...args: Args): Promise<void> {
      const flags = given as unknown as Flags;
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

/** Prints an error as a person or a program reads it, and sets the exit code. */
function reportFailure(ctx: Pick<Context, "out" | "process" | "has_plan">, error: unknown, json: boolean): void {
  const problem = toProblem(error);
  ctx.out.problem(problem.code === "internal_error" ? { ...problem, ...describeFault(error) } : problem, json);
  ctx.process.exitCode = exitCodeOf(problem.code, ctx.has_plan);
}

/** A fault of the command itself. It happened on the person's own machine, so its text betrays nothing to them. */
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
