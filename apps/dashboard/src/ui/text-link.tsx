import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";

/** A link inside of text. */
export const TextLink = createLink(({ children, ...rest }: ComponentProps<"a">) => (
  <a
    {...rest}
    className="font-medium text-accent underline decoration-accent/40 underline-offset-3 hover:decoration-accent"
  >
    {children}
  </a>
));
