/** Words that people build passwords from, in lower case. Attackers guess passwords of these words first. */
export const COMMON_WORDS: readonly string[] = `
abc access account admin administrator aloha amanda america andrea andrew angel angela anthony apple april arsenal ashley august austin
autumn baby babygirl bailey banana baseball basketball batman beautiful beauty berlin biteme blink blue boomer boston brandon buster
butter butterfly carlos carolina change changeme charlie cheese chelsea chester chicago chicken chocolate chris christ christian christmas
claudia coffee company computer control cookie corvette cowboy cowboys daniel database david december default demo demouser diamond dolphin
donald dragon eagle elephant elizabeth eminem enter facebook family february ferrari fishing flower flowers football forever freedom
friday friend friends fuck fuckyou gabriel gandalf george ginger god golf google green guest guitar hammer hannah happy harley hello hockey
home hottie house hunter iloveyou internet jackson jacob jasmine jason jennifer jessica jesus john jordan joseph joshua july june justin
killer king kitty knight lakers letmein liverpool login london love lovely lover loveme lovers loveyou lucky madison maggie manchester
march marina mark martin marvin master matrix matthew maverick melissa mercedes merlin michael michelle mickey midnight mike monday money
monkey monster morgan mother mustang naruto natasha newyork nicholas nicole nothing november october office oliver orange paris pass
passcode passphrase passwd password passwort peanut pepper phoenix player please pokemon police porsche postgres prince princess private purple
qazwsx qwer qwert qwerty rachel rainbow ranger raiders rebecca red richard robert rockyou root samantha samsung samuel saturday secret secure
security september server service sexy shadow shannon silver slayer smile snoopy snowball soccer sophie spider spiderman spring startrek starwars
steelers steven stupid success summer sunday sunny sunshine super superman superstar support supporter sweet sweety system taylor temp temppass test tester testing
thomas thunder thursday tiger tigger trustno tuesday tweety unknown user username vanessa victoria warrior wednesday welcome whatever william
willow winner winter wizard yankees yellow zaq zxc
`
  .trim()
  .split(/\s+/);
