// The hosted service on a project's home, with a sign-in of the built command.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { startServer } from "../scripts/lib/hosted-server.mjs";
import { cliCommand, type ServedProject } from "./support/served-project.ts";

const ACCOUNT = { email: "bench@example.com", name: "Bench", password: "a password for one run" };

export interface Hosted extends AsyncDisposable {
  readonly url: string;
}

/** Starts the server, creates the first account and signs the command in. Disposing stops the server. */
export async function setHosted(env: ServedProject["env"]): Promise<Hosted> {
  const server = await startServer(env);
  try {
    const url = printed(server.printed, /^Dashboard: (\S+)$/);
    const token = printed(server.printed, /\?token=(\S+)$/);
    const made = await post(`${url}/v1/setup`, { token, ...ACCOUNT }, {});
    const cookie = made.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    await signIn(env, url, { cookie, origin: url });
    return { url, [Symbol.asyncDispose]: () => server.stop() };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function signIn(env: ServedProject["env"], url: string, browser: Record<string, string>): Promise<void> {
  const { program, args } = cliCommand(["login", "--no-browser"]);
  const login = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(login, "exit");
  let said = "";
  for await (const data of login.stderr) {
    const before = /^Your code is (\S+)$/m.test(said);
    said += data;
    const code = /^Your code is (\S+)$/m.exec(said)?.[1];
    if (before || code === undefined) continue;
    // the confirmation page of a code loads it first
    await fetch(`${url}/v1/devices/${code}`, { headers: browser });
    await post(`${url}/v1/auth/device/approve`, { userCode: code }, browser);
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`cli login ended with ${status}: ${said}`);
}

async function post(url: string, body: object, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${await response.text()}`);
  return response;
}

function printed(lines: readonly string[], pattern: RegExp): string {
  const found = lines.map((line) => pattern.exec(line)?.[1]).find((text) => text !== undefined);
  if (found === undefined) throw new Error(`The server did not print ${pattern}: ${lines.join(" | ")}`);
  return found;
}
