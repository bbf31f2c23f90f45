// What this tab keeps of a payment: the client token, and how far it got. Never a card.
const key = "payledger.checkout";
const actionKey = "payledger.action";
const languageKey = "payledger.language";
const embedKey = "payledger.embed";

function read(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name)) ?? {};
  } catch {
    return {}; // storage is off, or holds something else
  }
}

export const kept = () => read(key);
export const action = () => read(actionKey).clientToken ?? "";

// keep changes some of what is kept; undefined takes a part away. False when the tab cannot keep anything.
export function keep(changes) {
  try {
    sessionStorage.setItem(key, JSON.stringify({ ...kept(), ...changes }));
    return true;
  } catch {
    return false;
  }
}

// nothing forgets how far a payment got: method is the card's token, key what it pays under, seen the price that the
// customer agreed to; returned says that the customer was sent back to the shop, changed that the price has changed.
export const nothing = {
  method: undefined, key: undefined, seen: undefined, changed: undefined, attempt: undefined, payment: undefined, resumeToken: undefined, returned: undefined,
};

export function keepAction(clientToken) {
  try {
    sessionStorage.setItem(actionKey, JSON.stringify({ clientToken }));
    return true;
  } catch {
    return false;
  }
}

// keepLanguage keeps the language that the shop has chosen, for the pages that follow. Without it they have the browser's.
function keepLanguage(locale) {
  try {
    sessionStorage.setItem(languageKey, JSON.stringify({ locale }));
  } catch {
    // the pages that follow have the browser's language
  }
}

// keepEmbed keeps the origin of the shop's page around this one, for the pages that follow; "" for none.
function keepEmbed(origin) {
  try {
    sessionStorage.setItem(embedKey, JSON.stringify({ origin }));
  } catch {
    // the pages that follow are not shown in a frame
  }
}

// takeToken takes the client token out of the address.
export function takeToken() {
  const { searchParams } = new URL(location.href);
  const token = searchParams.get("clientToken") ?? "";
  if (searchParams.has("locale")) keepLanguage(searchParams.get("locale"));
  if (token) keepEmbed(searchParams.get("embed") ?? "");
  return { token, hide: () => history.replaceState(null, "", location.pathname) };
}

function address(path, token) {
  const { locale } = read(languageKey);
  const { origin } = read(embedKey);
  const more = [["locale", locale], ["embed", origin]].map(([name, value]) => (value ? `&${name}=${encodeURIComponent(value)}` : ""));
  return `${path}?clientToken=${encodeURIComponent(token)}${more.join("")}`;
}

export const paymentAddress = () => address("/checkout", kept().clientToken);
export const challengeAddress = (token) => address("/checkout/challenge", token);
