import { describe, expect, test } from "vitest";
import { isForeignAddress, isPublicAddress, publicLookup } from "./public-addresses.ts";

describe("addresses", () => {
  test.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:db8::1",
    "localhost",
    "x",
  ])("%s is not public", (address) => expect(isPublicAddress(address)).toBe(false));

  test.each(["1.1.1.1", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"])("%s is public", (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );

  test("never connects to a name that resolves to this machine", async () => {
    const error = await new Promise((resolve) => publicLookup("localhost", { all: true }, (found) => resolve(found)));
    expect(error).toMatchObject({ code: "EPRIVATE" });
  });

  test("a public address of this machine is not foreign", () => {
    const own = { address: "1.1.1.1", netmask: "255.255.255.0", mac: "00:00:00:00:00:00", internal: false } as const;
    const interfaces = { eth0: [{ ...own, family: "IPv4" as const, cidr: null }] };
    expect(isForeignAddress("1.1.1.1", interfaces)).toBe(false);
    expect(isForeignAddress("1.1.1.2", interfaces)).toBe(true);
  });
});
