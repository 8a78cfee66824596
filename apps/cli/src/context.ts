import type { ControlClient } from "@appdb/contract/clients/control-client";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { appError } from "@appdb/contract/errors";
import type { DaemonFile } from "@appdb/contract/home";
import type { Manifest } from "@appdb/contract/manifest";
import type { OperatorAct, OperatorAnswer, OperatorRequest } from "@appdb/contract/operator";
import type { DaemonHealth } from "@appdb/contract/routes/local";
import type { Runtime } from "@appdb/contract/runtime";
import type { ServiceMessage, ServiceSpec } from "@appdb/contract/service-spec";
import type { StoredSession } from "@appdb/system/control/sessions";
import type { DiskSpace } from "@appdb/system/files/disk-space";
import type { StricliProcess } from "@stricli/core";
import type { CommandTable } from "./command-entry.ts";
import type { CliConfig } from "./config/config.ts";
import type { DeviceCode } from "./control/device-sign-in.ts";
import type { Credential } from "./control/find-credential.ts";
import type { ControlPlaneAddress } from "./control/find-server.ts";
import type { CompletedCommand } from "./output/completion-scripts.ts";
import type { Output } from "./output/output.ts";

/** Everything that a command may access. */
export interface Context extends World {
  /** Whether the verb has a plan, which changes the exit code of usage errors. */
  readonly has_plan: boolean;
}

/** Dependencies of a command besides its command line. Tests pass their own. */
export interface World {
  readonly process: StricliProcess;
  readonly config: CliConfig;
  /** The current folder. */
  readonly cwd: string;
  readonly out: Output;
  /** Aborts with Ctrl-C. */
  readonly signal: AbortSignal;
  /** Undefined without a terminal for questions. */
  readonly prompt: Prompt | undefined;
  /** Reads piped input that is short, such as a secret; undefined when stdin is a terminal. */
  readonly readInput: (() => Promise<Uint8Array>) | undefined;
  /** Piped input of any length, piece by piece; undefined when stdin is a terminal. */
  readonly streamInput: (() => AsyncIterable<Uint8Array>) | undefined;
  /** What an interactive shell reads and writes. */
  readonly terminal: Terminal;
  readonly daemon: DaemonControl;
  /** Access to the hosted service, loaded on demand. */
  control(): Promise<ControlAccess>;
  /** Reads an application file: finds the project, checks its configuration, runs the file's Python. */
  readApplication(input: ApplicationInput): Promise<Application>;
  /** Checks an application with the engine, without a database. */
  checkApplication(manifest: Manifest): Promise<void>;
  /** Starts a service in the foreground. Its log goes to stderr, unformatted when `raw` is set. */
  startService(spec: ServiceSpec, raw: boolean): Promise<RunningService>;
  /** Every command, by its name. */
  readonly commands: CommandTable;
  /** Runs another command line in this program, and returns its exit code. The signal cancels it. */
  runCommand(argv: readonly string[], signal: AbortSignal): Promise<number>;
  /** Every command, for completions. */
  listCommands(): Promise<CompletedCommand[]>;
  /**
   * Runs an operator command of the server's program on this machine's home.
   * @throws hosted_not_available without that program; the program's error
   */
  operate<Act extends OperatorAct>(request: OperatorRequest & { readonly act: Act }): Promise<OperatorAnswer<Act>>;
  /** The program psql of this installation. @throws postgres_failed without it */
  findPsql(): Promise<string>;
  /** The space of the disk with a folder; undefined if the system does not tell it. */
  readDisk(folder: string): Promise<DiskSpace | undefined>;
  /** Checks what this machine has. */
  doctor(): Promise<MachineCheck[]>;
}

/** A requirement of an installation. */
export interface MachineCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Whether it is there and does not work, for checks of what is missing. */
  readonly failed?: boolean;
  readonly detail: string;
  /** How to fix it when it is not ok. */
  readonly hint: string | null;
}

/** An input stream; that of a terminal has a raw mode. */
export interface TerminalInput extends NodeJS.ReadableStream {
  setRawMode?(isRaw: boolean): unknown;
}

export interface Terminal {
  readonly input: TerminalInput;
  /** For prompts and what is typed. */
  readonly output: NodeJS.WritableStream;
  /** Whether a person types and sees prompts. */
  readonly is_interactive: boolean;
  /** From now on, Ctrl-C calls this instead of ending the program, until the returned function is called. */
  takeInterrupts(listener: () => void): () => void;
}

export interface Prompt {
  /** @throws AppError interrupted when the user cancels the question with Ctrl-C */
  confirm(question: string): Promise<boolean>;
  /** Asks for a line of text. @throws AppError interrupted */
  text(question: string): Promise<string>;
  /** Asks for a secret without echo. @throws AppError interrupted */
  secret(question: string): Promise<string>;
}

/** The control plane as one credential can use it. */
export interface Control {
  readonly client: ControlClient;
  readonly server: ControlPlaneAddress;
  readonly credential: Credential;
}

/** Access to the control plane and stored sign-ins. */
export interface ControlAccess {
  /**
   * The control plane with a sign-in or a key.
   * @throws not_signed_in, config_invalid, server_unreachable when no server is known
   */
  open(): Promise<Control>;
  /** @throws config_invalid, server_unreachable when no server is known */
  findServer(): Promise<ControlPlaneAddress>;
  /** Credential that commands use; undefined without one. @throws config_invalid */
  findCredential(server: ControlPlaneAddress): Promise<Credential | undefined>;
  /** The sign-in of `cli login`, even when another credential overrides it. @throws config_invalid */
  findSignIn(server: ControlPlaneAddress): Credential | undefined;
  /** A client with this credential. @throws server_unreachable when the server is known to be gone */
  connect(server: ControlPlaneAddress, credential: Credential): ControlClient;
  /**
   * Signs in with a code that the user confirms. Returns the session's credential and the data to store; stores
   * nothing.
   * @throws sign_in_denied, sign_in_expired, server_unreachable, interrupted
   */
  signIn(server: ControlPlaneAddress, listener: SignInListener): Promise<{ token: string; credential: Credential }>;
  /**
   * Stores a sign-in or removes it, and returns the previous one.
   * @throws home_not_writable, disk_full, config_invalid
   */
  keepSignIn(server: ControlPlaneAddress, session: StoredSession | undefined): Credential | undefined;
  /** Stores the address in the home's config.toml and returns that file. @throws config_invalid, home_not_writable */
  keepServer(url: string): Promise<string>;
  openBrowser(url: string): void;
}

export interface SignInListener {
  onCode(code: DeviceCode): void;
  /** Called when the server did not respond and the request is retried. */
  onRetry(reason: string): void;
}

export interface DaemonControl {
  /**
   * A client of the home's daemon, which is started when necessary.
   * @throws daemon_failed, daemon_busy, daemon_hung, home_not_writable
   */
  ensure(): Promise<LocalClient>;
  /** Finds the home's daemon without starting it; undefined when none runs. @throws daemon_hung */
  find(): Promise<FoundDaemon | undefined>;
  /** Waits until the process has ended. @throws daemon_failed after a minute */
  waitUntilGone(pid: number): Promise<void>;
  /**
   * Ends the home's daemon that does not answer, by force if it must. Returns the signal that ended it. PostgreSQL may still run.
   * @throws daemon_busy when it does not end
   */
  endHung(pid: number): Promise<NodeJS.Signals>;
}

export interface FoundDaemon {
  readonly file: DaemonFile;
  readonly client: LocalClient;
  readonly health: DaemonHealth;
}

export interface ApplicationInput {
  /** As typed. */
  readonly file: string;
  /** `--python`; undefined selects the environment automatically. */
  readonly python: string | undefined;
  /** Cancels reading, in addition to Ctrl-C. */
  readonly signal?: AbortSignal | undefined;
}

export interface Application {
  readonly manifest: Manifest;
  readonly runtime: Runtime;
}

export interface RunningService {
  /** Settles once, when the service listens or reports why it cannot. */
  readonly ready: Promise<ServiceMessage>;
  /** Exit code of its process; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Asks it to finish its requests and end; kills it on timeout. */
  stop(): Promise<void>;
}

/** The option of a next command that must not ask: without a terminal nothing can be asked. */
export function forceOption({ prompt }: Pick<Context, "prompt">, force: boolean): readonly string[] {
  return prompt === undefined || force ? ["-f"] : [];
}

/**
 * Asks before an action; `-f` answers in advance.
 * @throws confirmation_required without a terminal, or when the answer is no; `again` is the command with the
 * confirmation
 */
export async function confirm(
  ctx: Pick<Context, "prompt">,
  input: { readonly question: string; readonly force: boolean; readonly again: string },
): Promise<void> {
  if (input.force) return;
  if (ctx.prompt === undefined) {
    throw appError("confirmation_required", {
      detail: `Confirmation is required, but there is no terminal: ${input.question}`,
      hint: `To confirm in advance: ${input.again}`,
      meta: { next: input.again },
    });
  }
  if (await ctx.prompt.confirm(input.question)) return;
  throw appError("confirmation_required", {
    detail: "Nothing was changed, because the answer was no.",
    hint: `To skip the question: ${input.again}`,
    meta: { next: input.again },
  });
}
