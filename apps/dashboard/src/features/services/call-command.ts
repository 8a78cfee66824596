import type { HostedService } from "@appdb/contract/routes/control-services";

/** The command that calls a route, with a body or a query to fill in; the key comes from the environment. */
export function callCommand(endpoint: string, route: HostedService["routes"][number]): string {
  const url = endpoint + route.path;
  const key = `-H "X-api-key: $SERVICE_API_KEY"`;
  if (route.method === "GET") {
    const query = route.inputs.map((name) => `${encodeURIComponent(name)}=`).join("&");
    return [`curl '${url}${query === "" ? "" : `?${query}`}'`, key].join(" \\\n  ");
  }
  const method = route.method === "ANY" ? "POST" : route.method;
  const body = JSON.stringify(Object.fromEntries(route.inputs.map((name) => [name, ""]))).replaceAll("'", "'\\''");
  return [`curl -X ${method} '${url}'`, key, `-H 'content-type: application/json'`, `-d '${body}'`].join(" \\\n  ");
}
