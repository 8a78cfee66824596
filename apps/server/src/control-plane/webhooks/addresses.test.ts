import { isForeignAddress } from "@appdb/system/network/public-addresses";
import { describe, expect, test } from "vitest";
import { checkWebhookUrl } from "./addresses.ts";
import { backoffSeconds } from "./deliver.ts";

const refused = (url: string, allowPrivate = false) =>
  expect(() => checkWebhookUrl(url, allowPrivate)).toThrow("Webhooks cannot be sent to");

describe("addresses of webhooks", () => {
  test.each([
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "https://u:p@example.com/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://localhost/",
    "https://a.localhost./",
    "https://127.1/",
    "x",
  ])("refuses %s", (url) => refused(url));

  test("refuses a public address of this machine", () => {
    const part = { netmask: "255.255.255.0", mac: "00:00:00:00:00:00", internal: false, cidr: null };
    const own = { eth0: [{ ...part, address: "8.8.4.4", family: "IPv4" as const }] };
    const isForeign = (address: string) => isForeignAddress(address, own);
    expect(() => checkWebhookUrl("https://8.8.4.4/hook", false, isForeign)).toThrow("this machine");
    expect(checkWebhookUrl("https://8.8.8.8/hook", false, isForeign).host).toBe("8.8.8.8");
  });

  test("with the setting accepts private addresses, but no credentials and no other schemes", () => {
    expect(checkWebhookUrl("http://127.0.0.1:1/x", true).port).toBe("1");
    refused("https://u:p@example.com/", true);
    refused("file:///etc/passwd", true);
  });

  test("pauses grow up to four hours", () => {
    const waits = Array.from({ length: 12 }, (_, at) => backoffSeconds(at + 1));
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect([waits[0], waits.at(-1)]).toEqual([5, 14_400]);
  });
});
