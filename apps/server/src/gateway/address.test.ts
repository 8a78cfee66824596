import { expect, test } from "vitest";
import { readServerConfig } from "../config/config.ts";
import { gatewaySource, serviceEndpoint } from "../edge/address.ts";

const TLS = { SERVICE_TLS_CERT: "/cert.pem", SERVICE_TLS_KEY: "/key.pem" };

test.each([
  [{}, { gateway_label: "d1", gateway_port: 4711 }, "http://127.0.0.1:4711/reports/ingest"],
  [{ SERVICE_GATEWAY_HOST: "::1" }, { gateway_label: "d1", gateway_port: 4711 }, "http://[::1]:4711/reports/ingest"],
  [{}, { gateway_label: "d1", gateway_port: null }, null],
  [
    { SERVICE_DOMAIN: "Apps.example.com", ...TLS },
    { gateway_label: "d1", gateway_port: 4711 },
    "https://d1.apps.example.com/reports/ingest",
  ],
  [
    { SERVICE_DOMAIN: "localhost", SERVICE_GATEWAY_PORT: "8443", ...TLS },
    { gateway_label: "d1", gateway_port: null },
    "https://d1.localhost:8443/reports/ingest",
  ],
] as const)("with the settings %j, a service of %j is at %s", (env, place, endpoint) => {
  expect(serviceEndpoint(readServerConfig(env), place, "reports/ingest")).toBe(endpoint);
});

test.each([
  [{}, "http://127.0.0.1:*"],
  [{ SERVICE_GATEWAY_HOST: "::1" }, undefined],
  [{ SERVICE_DOMAIN: "Apps.example.com", ...TLS }, "https://*.apps.example.com"],
  [{ SERVICE_DOMAIN: "localhost", SERVICE_GATEWAY_PORT: "8443", ...TLS }, "https://*.localhost:8443"],
] as const)("with the settings %j, pages show files of %s", (env, source) => {
  expect(gatewaySource(readServerConfig(env))).toBe(source);
});
