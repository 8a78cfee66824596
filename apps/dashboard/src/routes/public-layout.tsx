import { Outlet } from "@tanstack/react-router";
import { ThemeButton } from "../ui/theme-button.tsx";
import { Wordmark } from "../ui/wordmark.tsx";

/** One narrow column, for pages that identify people. */
export function PublicLayout() {
  return (
    <div className="grid min-h-dvh grid-rows-[auto_1fr]">
      <header className="flex h-14 items-center justify-between px-5">
        <Wordmark />
        <ThemeButton />
      </header>
      <main className="mx-auto grid w-full max-w-[26rem] content-start gap-5 px-5 pt-[8vh] pb-16">
        <Outlet />
      </main>
    </div>
  );
}
