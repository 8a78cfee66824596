/** The chosen theme; public/theme.js sets it before the first paint. */
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "theme";

export function currentTheme(): Theme {
  const set = document.documentElement.dataset["theme"];
  return THEMES.find((theme) => theme === set) ?? "system";
}

/** Applies a theme and stores it if the browser allows that. */
export function chooseTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, theme);
  } catch {
    // storage is forbidden: the theme lasts until the page is reloaded
  }
}
