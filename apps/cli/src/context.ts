import type { ControlClient } from "@appdb/contract/clients/control-client";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { appError } from "@appdb/contract/errors";
import type { DaemonFile } from "@appdb/contract/home";
import type { Manifest } from "@appdb/contract/manifest";
import type { OperatorAct, OperatorAnswer, OperatorRequest } from "@appdb/contract/operator";
import type { DaemonHealth } from "@appdb/contract/routes/local";
import type { Runtime } from "@appdb/contract/runtime";
import type { ServiceMessage, ServiceSpec } from "@appdb/contract/service-spec";
import type { StricliProcess } from "@stricli/core";
import type { CliConfig } from "./config/config.ts";
import type { DeviceCode } from "./control/device-sign-in.ts";
import type { Credential } from "./control/find-credential.ts";
import type { ControlPlaneAddress } from "./control/find-server.ts";
import type { StoredSession } from "./control/sessions.ts";
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
  /** Reads what is piped in; undefined where stdin is a terminal. */
  readonly readInput: (() => Promise<Uint8Array>) | undefined;
  readonly daemon: DaemonControl;
  /** The way to the hosted service, loaded when a command asks for it. */
  control(): Promise<ControlAccess>;
  /** Reads an application file: finds the project, checks its configuration, runs the file's Python. */
  readApplication(input: ApplicationInput): Promise<Application>;
  /** Lets the engine look through an application without a database. */
  checkApplication(manifest: Manifest): Promise<void>;
  /** Starts a service in the foreground; its log goes to stderr, as it is when `raw` is set. */
  startService(spec: ServiceSpec, raw: boolean): Promise<RunningService>;
  /** Every command, for completions. */
  listCommands(): Promise<CompletedCommand[]>;
  /** Has the server's program act on this machine's home, as its operator. @throws hosted_not_available without that program; what it says */
  operate<Act extends OperatorAct>(request: OperatorRequest & { readonly act: Act }): Promise<OperatorAnswer<Act>>;
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
  /** Asks for a line of text. @throws AppError interrupted */
  text(question: string): Promise<string>;
  /** Asks for what nobody may see; shows nothing of what is typed. @throws AppError interrupted */
  secret(question: string): Promise<string>;
}

/** The hosted service's control plane as one credential reaches it. */
export interface Control {
  readonly client: ControlClient;
  readonly server: ControlPlaneAddress;
  readonly credential: Credential;
}

/** How commands reach the control plane, and keep who is signed in where. */
export interface ControlAccess {
  /** The control plane for somebody who is signed in or has a key.
   *  @throws not_signed_in, config_invalid, server_unreachable when no server is known */
  open(): Promise<Control>;
  /** @throws config_invalid, server_unreachable when none is known */
  findServer(): Promise<ControlPlaneAddress>;
  /** What commands sign requests with; undefined when there is nothing. @throws config_invalid */
  findCredential(server: ControlPlaneAddress): Promise<Credential | undefined>;
  /** The sign-in of `cli login`, whatever goes before it. @throws config_invalid */
  findSignIn(server: ControlPlaneAddress): Credential | undefined;
  /** A client with this credential. @throws server_unreachable when the server is known to be gone */
  connect(server: ControlPlaneAddress, credential: Credential): ControlClient;
  /** Signs in by a code that somebody confirms; answers the session's credential and what to keep of it, keeps nothing.
   *  @throws sign_in_denied, sign_in_expired, server_unreachable, interrupted */
  signIn(server: ControlPlaneAddress, listener: SignInListener): Promise<{ token: string; credential: Credential }>;
  /** Keeps a sign-in, or forgets it; answers the one that was kept. @throws home_not_writable, disk_full, config_invalid */
  keepSignIn(server: ControlPlaneAddress, session: StoredSession | undefined): Credential | undefined;
  /** Keeps the address in the home's config.toml; answers that file. @throws config_invalid, home_not_writable */
  keepServer(url: string): Promise<string>;
  openBrowser(url: string): void;
}

export interface SignInListener {
  onCode(code: DeviceCode): void;
  /** The server did not answer; it is asked again. */
  onRetry(reason: string): void;
}

export interface DaemonControl {
  /** A client of the home's daemon, which is started when it does not run.
   *  @throws daemon_failed, daemon_busy, home_not_writable */
  ensure(): Promise<LocalClient>;
  /** What is known of the home's daemon; undefined when none answers. Starts nothing. */
  find(): Promise<FoundDaemon | undefined>;
  /** Waits until the process is gone. @throws daemon_failed after a minute */
  waitUntilGone(pid: number): Promise<void>;
}

export interface FoundDaemon {
  readonly file: DaemonFile;
  readonly client: LocalClient;
  readonly health: DaemonHealth;
}

export interface ApplicationInput {
  /** As typed. */
  readonly file: string;
  /** `--python`; undefined lets the environment be found. */
  readonly python: string | undefined;
  /** Ends the reading before Ctrl-C does. */
  readonly signal?: AbortSignal | undefined;
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
