import type { FastifyReply } from "fastify";

/** Takes the answer over from Fastify and sends its head. */
export function beginStream(reply: FastifyReply, headers: Readonly<Record<string, string>>): FastifyReply["raw"] {
  reply.hijack();
  reply.raw.writeHead(200, { ...plain(reply.getHeaders()), ...headers });
  // send the head now, so that the client knows that the request was accepted
  reply.raw.flushHeaders();
  return reply.raw;
}

/** Writes a text, and waits for a slow reader. */
export async function writeText(
  raw: FastifyReply["raw"],
  text: string | Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  if (raw.write(text) || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      raw.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    raw.once("drain", done);
    signal.addEventListener("abort", done);
  });
}

/** The headers set by hooks, which a taken-over answer must send itself. */
function plain(headers: ReturnType<FastifyReply["getHeaders"]>): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) found[name] = Array.isArray(value) ? value : String(value);
  }
  return found;
}
