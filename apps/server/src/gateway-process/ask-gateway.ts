import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { PROBLEM_CODES } from "../health/problems.ts";

const problemSchema = z.object({ code: z.enum(PROBLEM_CODES), what: z.string() });
const aboutSchema = z.object({ pid: z.int(), digest: z.string(), problems: z.array(problemSchema) });

/** A gateway's description of itself for the server that started it. */
export type AboutGateway = z.output<typeof aboutSchema>;

const ASK_MS = 1_000;

/** Asks the gateway at the socket. Undefined if none answers in time, or one of another version. */
export async function askAbout(socket: string, maxMs = ASK_MS): Promise<AboutGateway | undefined> {
  const about = await ask(socket, "/about", maxMs);
  return about === undefined ? undefined : aboutSchema.safeParse(JSON.parse(about)).data;
}

/** The gateway's metrics in Prometheus format. Undefined without an answer within a second. */
export async function askMetrics(socket: string): Promise<string | undefined> {
  return await ask(socket, "/metrics");
}

/** Passes on whole lines of the gateway's log. Resolves when the connection ends. */
export async function followLog(socket: string, take: (lines: string) => void): Promise<void> {
  let begun = "";
  try {
    const answer = await begin(socket, "/log");
    answer.setEncoding("utf8");
    for await (const piece of answer) {
      const text: string = begun + piece;
      const end = text.lastIndexOf("\n") + 1;
      if (end > 0) take(text.slice(0, end));
      begun = text.slice(end);
    }
  } catch {
    // the gateway ended; the caller detects that by its process
  }
}

async function ask(socket: string, path: string, maxMs = ASK_MS): Promise<string | undefined> {
  try {
    return await text(await begin(socket, path, AbortSignal.timeout(maxMs)));
  } catch {
    // no answer in time
    return undefined;
  }
}

function begin(socketPath: string, path: string, signal?: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sending = request({ socketPath, path, agent: false, ...(signal === undefined ? {} : { signal }) });
    sending.once("response", resolve);
    sending.on("error", reject);
    sending.end();
  });
}
