import { describe, expect, test } from "vitest";
import { checkWebhookUrl, isPublicAddress, publicLookup } from "./addresses.ts";
import { backoffSeconds } from "./deliver.ts";

const refused = (url: string, allow_private = false) =>
  expect(() => checkWebhookUrl(url, allow_private)).toThrow("Nothing can be posted");

describe("addresses of webhooks", () => {
  test.each([
    ...[
      "127.0.0.1",
      "10.1.2.3",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "0.0.0.0",
    ],
    ...["224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1"],
    ...["::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "localhost", "x"],
  ])("%s is not public", (address) => expect(isPublicAddress(address)).toBe(false));

  test.each(["1.1.1.1", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"])("%s is public", (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );

  test.each([
    ...[
      "http://example.com/",
      "ftp://example.com/",
      "file:///etc/passwd",
      "https://u:p@example.com/",
      "https://127.0.0.1/",
    ],
    ...[
      "https://[::1]/",
      "https://2130706433/",
      "https://0x7f.1/",
      "https://localhost/",
      "https://a.localhost./",
      "https://127.1/",
      "x",
    ],
  ])("%s is refused", (url) => refused(url));

  test("with the setting private ones are taken, but no credentials and no other schemes", () => {
    expect(checkWebhookUrl("http://127.0.0.1:1/x", true).port).toBe("1");
    refused("https://u:p@example.com/", true);
    refused("file:///etc/passwd", true);
  });

  test("a name that resolves to this machine is connected to by nobody", async () => {
    const error = await new Promise((resolve) => publicLookup("localhost", { all: true }, (found) => resolve(found)));
    expect(error).toMatchObject({ code: "EPRIVATE" });
  });

  test("waits grow, and stay at four hours", () => {
    const waits = Array.from({ length: 12 }, (_, at) => backoffSeconds(at + 1));
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect([waits[0], waits.at(-1)]).toEqual([5, 14_400]);
  });
});
