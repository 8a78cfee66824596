import { useState } from "react";
import { Button } from "./button.tsx";
import { MoonIcon, SunIcon, SystemIcon } from "./icons.tsx";
import { chooseTheme, currentTheme, THEMES, type Theme } from "./theme.ts";

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
