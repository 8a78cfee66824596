import type { BuiltCall } from "./build-call.ts";

/** The curl command for the same request, with the key from the environment. */
export function callCommand(endpoint: string, { body, form, headers, method, path }: BuiltCall): string {
  // curl posts a form without being asked
  const url = `${method === "GET" || (form !== null && method === "POST") ? "" : `-X ${method} `}${quote(endpoint + path)}`;
  const own = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const sent = body === null ? [] : [`-H 'content-type: application/json'`, `-d ${quote(body)}`];
  const parts = (form ?? []).map(({ name, value }) =>
    typeof value === "string"
      ? `--form-string ${quote(`${name}=${value}`)}`
      : `-F ${quote(`${name}=@"${value.name.replaceAll(/["\\]/g, "\\$&")}"`)}`,
  );
  return [`curl ${url}`, `-H "X-api-key: $SERVICE_API_KEY"`, ...own, ...sent, ...parts].join(" \\\n  ");
}

/** Escapes quotes: a quote ends the quoted text for a moment. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
