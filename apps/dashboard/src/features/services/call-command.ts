import type { BuiltCall } from "./build-call.ts";

/** The curl command for the same request, with the key from the environment. */
export function callCommand(endpoint: string, { body, headers, method, path }: BuiltCall): string {
  const url = `${method === "GET" ? "" : `-X ${method} `}${quote(endpoint + path)}`;
  const own = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const sent = body === null ? [] : [`-H 'content-type: application/json'`, `-d ${quote(body)}`];
  return [`curl ${url}`, `-H "X-api-key: $SERVICE_API_KEY"`, ...own, ...sent].join(" \\\n  ");
}

/** Escapes quotes: a quote ends the quoted text for a moment. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
