import { SERVER_SETTINGS, type ServerSetting } from "../../apps/server/src/config/config.ts";
import { STREAMS } from "../../apps/server/src/gateway/domain-server.ts";
import { BUFFERED_BODY_BYTES } from "../../apps/server/src/gateway/send-by-link.ts";
import {
  STRANGERS_AT_ONCE,
  STRANGERS_OF_ADDRESS,
  STRANGERS_OF_ORGANIZATION,
} from "../../apps/server/src/gateway/strangers.ts";

/** Limits of one gateway, for docs/limits.md. */
export function gatewayLimits(): string[] {
  const set = (meaning: string, name: ServerSetting) =>
    `| ${meaning} | ${Number(SERVER_SETTINGS[name].parse(undefined)).toLocaleString("en")} | \`${name}\` |`;
  const fixed = (meaning: string, number: number) => `| ${meaning} | ${number.toLocaleString("en")} | |`;
  return [
    "## Of the gateway",
    "",
    "Each gateway counts for itself. Beyond most of these a request gets `overloaded`, and a connection is closed at once ([gateway.md](gateway.md)).",
    "",
    "| limit | default | variable |",
    "|---|---|---|",
    set("requests under way in one service", "SERVICE_MAX_IN_FLIGHT"),
    set("requests under way in all services of one organization", "SERVICE_MAX_ORG_IN_FLIGHT"),
    set("megabytes of bodies and answers in memory; a quarter for one organization", "SERVICE_GATEWAY_MEMORY_MB"),
    set("requests of one key a second; `rate_limited` beyond it", "SERVICE_KEY_RATE"),
    set("connections", "SERVICE_MAX_CONNECTIONS"),
    set("connections of one address", "SERVICE_MAX_ADDRESS_CONNECTIONS"),
    fixed("requests at once on one connection of HTTP/2", STREAMS),
    fixed("requests without a key under way", STRANGERS_AT_ONCE),
    fixed("requests without a key under way, to services of one organization", STRANGERS_OF_ORGANIZATION),
    fixed("requests without a key under way, of one address", STRANGERS_OF_ADDRESS),
    fixed("bytes of a body that is read before it is sent on; a longer one streams", BUFFERED_BODY_BYTES),
  ];
}
