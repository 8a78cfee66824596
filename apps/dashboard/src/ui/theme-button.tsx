import { useState } from "react";
import { Button } from "./button.tsx";
import { MoonIcon, SunIcon, SystemIcon } from "./icons.tsx";

/** The chosen theme; public/theme.js sets it before the first paint. */
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const STORED = "theme";

function currentTheme(): Theme {
  const set = document.documentElement.dataset["theme"];
  return THEMES.find((theme) => theme === set) ?? "system";
}

/** Applies a theme and stores it if the browser allows that. */
function chooseTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, theme);
  } catch {
    // storage is forbidden: the theme lasts until the page is reloaded
  }
}

const ICONS: Readonly<Record<Theme, () => React.JSX.Element>> = { system: SystemIcon, light: SunIcon, dark: MoonIcon };

/** Cycles through the themes: system, light, dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState(currentTheme);
  const ThemeIcon = ICONS[theme];
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <Button
      look="quiet"
      small
      aria-label={`Theme: ${theme}. Change to ${next}`}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    >
      <ThemeIcon />
      <span className="max-sm:sr-only capitalize">{theme}</span>
    </Button>
  );
}
