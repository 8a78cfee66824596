import type { LocalClient } from "@appdb/contract/client";
import { appError } from "@appdb/contract/errors";
import type { DaemonFile } from "@appdb/contract/home";
import type { Manifest } from "@appdb/contract/manifest";
import type { Health, Runtime } from "@appdb/contract/routes/local";
import type { ServiceMessage, ServiceSpec } from "@appdb/contract/service-spec";
import type { StricliProcess } from "@stricli/core";
import type { CliConfig } from "./config.ts";
import type { CompletedCommand } from "./output/completion-scripts.ts";
import type { Output } from "./output/output.ts";

/** Everything that a command may touch. */
export interface Context extends World {
  /** The verb has a plan, which changes the exit code of wrong usage. */
  readonly has_plan: boolean;
}

/** Everything that a command may touch beside what is known of its line. Tests hand in their own. */
export interface World {
  readonly process: StricliProcess;
  readonly config: CliConfig;
  /** Where the person stands. */
  readonly cwd: string;
  readonly out: Output;
  /** Aborts with Ctrl-C. */
  readonly signal: AbortSignal;
  /** Undefined where nobody can answer. */
  readonly prompt: Prompt | undefined;
  readonly daemon: DaemonControl;
  /** Reads an application file: finds the project, checks its configuration, runs the file's Python. */
  readApplication(input: ApplicationInput): Promise<Application>;
  /** Lets the engine look through an application without a database. */
  checkApplication(manifest: Manifest): Promise<void>;
  /** Starts a service in the foreground; its log goes to stderr, as it is when `raw` is set. */
  startService(spec: ServiceSpec, raw: boolean): Promise<RunningService>;
  /** Every command, for completions. */
  listCommands(): Promise<CompletedCommand[]>;
  /** Looks at what this machine has. */
  doctor(): Promise<MachineCheck[]>;
}

/** One thing that an installation needs. */
export interface MachineCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do when it is not ok. */
  readonly hint: string | null;
}

export interface Prompt {
  /** @throws AppError interrupted when the person leaves the question with Ctrl-C */
  confirm(question: string): Promise<boolean>;
}

export interface DaemonControl {
  /** A client of the home's daemon, which is started when it does not run.
   *  @throws daemon_failed, daemon_busy, home_not_writable */
  ensure(): Promise<LocalClient>;
  /** What is known of the home's daemon; undefined when none answers. Starts nothing. */
  find(): Promise<FoundDaemon | undefined>;
  /** Waits until the process is gone. @throws daemon_failed after half a minute */
  waitUntilGone(pid: number): Promise<void>;
}

export interface FoundDaemon {
  readonly file: DaemonFile;
  readonly client: LocalClient;
  readonly health: Health;
}

export interface ApplicationInput {
  /** As typed. */
  readonly file: string;
  /** `--python`; undefined lets the environment be found. */
  readonly python: string | undefined;
}

export interface Application {
  readonly manifest: Manifest;
  readonly runtime: Runtime;
}

export interface RunningService {
  /** Settles once: the service listens, or says why it cannot. */
  readonly ready: Promise<ServiceMessage>;
  /** Exit code of its process, null when a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Asks it to finish its requests and end; kills it when it does not. */
  stop(): Promise<void>;
}

/** Asks before something is done; `-f` answers for the person.
 *  @throws confirmation_required where nobody can answer or the answer is no; `again` is the command that does it */
export async function confirm(
  ctx: Pick<Context, "prompt">,
  input: { readonly question: string; readonly force: boolean; readonly again: string },
): Promise<void> {
  if (input.force) return;
  if (ctx.prompt === undefined) {
    throw appError("confirmation_required", {
      detail: `There is no terminal to ask: ${input.question}`,
      hint: `Answer beforehand: ${input.again}`,
      meta: { next: input.again },
    });
  }
  if (await ctx.prompt.confirm(input.question)) return;
  throw appError("confirmation_required", {
    detail: "Nothing was changed: the answer was no.",
    hint: `To do it without being asked: ${input.again}`,
    meta: { next: input.again },
  });
}
