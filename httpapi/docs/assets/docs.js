// Finds in the contents, copies examples, and puts the reader's sandbox key into copied text. The key is in the tab's session storage,
// and the page can send nothing: its content security policy forbids every connection.
const $ = (id) => document.getElementById(id);
const announce = (text) => { $("announcer").textContent = text; };

// The key.
const storedAs = "payledger.docs.key";
// variables are the places of the key in an example: in a shell command, and in the program of a language.
const variables = ["$PAYLEDGER_API_KEY", 'os.Getenv("PAYLEDGER_API_KEY")', "process.env.PAYLEDGER_API_KEY", 'os.environ["PAYLEDGER_API_KEY"]'];
const sandboxKey = /^plk_sandbox_[0-9A-Za-z]+_[0-9A-Za-z]+$/;

function key() {
  try {
    const kept = sessionStorage.getItem(storedAs) ?? "";
    return sandboxKey.test(kept) ? kept : "";
  } catch {
    return ""; // storage is off
  }
}

function keep(text) {
  try {
    if (text) sessionStorage.setItem(storedAs, text);
    else sessionStorage.removeItem(storedAs);
    return true;
  } catch {
    return false;
  }
}

// problemOf says why a text is no key for examples; "" for a sandbox key, and for no text.
function problemOf(text) {
  if (text === "" || sandboxKey.test(text)) return "";
  if (text.startsWith("plk_live_")) return "This is a live key: it moves real money. Examples take keys of the sandbox only, and this one was not kept.";
  return "A sandbox key begins with plk_sandbox_ and has two more parts.";
}

function onKey() {
  const field = $("key");
  const text = field.value.trim();
  const problem = problemOf(text);
  const kept = keep(problem ? "" : text);
  $("key-error").textContent = problem || (kept ? "" : "This browser keeps nothing for the tab: allow storage for this site.");
  if (problem && field.value) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
  $("key-forget").hidden = key() === "";
}

if ($("key-box")) {
  $("key-box").hidden = false;
  $("key").value = key();
  $("key-forget").hidden = key() === "";
  $("key").addEventListener("input", onKey);
  $("key").addEventListener("change", () => { // a live key does not stay in sight
    if ($("key").value.trim().startsWith("plk_live_")) $("key").value = "";
  });
  $("key-forget").addEventListener("click", () => {
    $("key").value = "";
    onKey();
    $("key").focus();
    announce("The key was forgotten.");
  });
}

// withKey puts the key into an example: as it is into a command, as a string into a program.
function withKey(text) {
  if (!key()) return text;
  return variables.reduce((written, variable) => written.replaceAll(variable, variable.startsWith("$") ? key() : JSON.stringify(key())), text);
}

// The language of the examples, which the browser remembers.
const languageAs = "payledger.docs.language";

function remembered() {
  try {
    return localStorage.getItem(languageAs) ?? "";
  } catch {
    return ""; // storage is off
  }
}

for (const choice of document.querySelectorAll('input[name="language"]')) {
  if (choice.value === remembered()) choice.checked = true;
  choice.addEventListener("change", () => {
    try {
      localStorage.setItem(languageAs, choice.value);
    } catch {
      // the next page begins with curl
    }
  });
}

// Copy.
async function copy(button) {
  const code = button.closest(".code").querySelector("code");
  const text = withKey(code.textContent);
  const label = button.firstChild;
  try {
    await navigator.clipboard.writeText(text);
    label.textContent = "Copied";
    announce(text === code.textContent ? "Copied." : "Copied with your key.");
  } catch {
    getSelection().selectAllChildren(code);
    label.textContent = "Selected";
    announce("This browser does not let the page copy. The text is selected: copy it with the keyboard.");
  }
  setTimeout(() => { label.textContent = "Copy"; }, 2000);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

// The contents are open on a desk, and folded on a telephone.
const wide = matchMedia("(min-width: 60rem)");
const unfold = () => { $("contents").open = wide.matches; };
wide.addEventListener("change", unfold);
unfold();
document.documentElement.dataset.script = "on";

// The filter of the contents.
const entries = [...document.querySelectorAll("#contents li")];
const shelves = [...document.querySelectorAll("#contents .shelf")];
const usuallyOpen = shelves.map((shelf) => shelf.open);

function filter() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const entry of entries) {
    const text = entry.dataset.find.toLowerCase();
    entry.hidden = !words.every((word) => text.includes(word));
    if (!entry.hidden) found++;
  }
  shelves.forEach((shelf, i) => {
    const some = [...shelf.querySelectorAll("li")].some((entry) => !entry.hidden);
    shelf.hidden = !some;
    shelf.open = words.length > 0 ? some : usuallyOpen[i];
  });
  $("found").textContent = words.length === 0 ? "" : found === 0 ? "Nothing has these words." : found === 1 ? "1 entry" : `${found} entries`;
}

$("find").hidden = false;
$("filter").addEventListener("input", filter);
$("filter").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    $("filter").value = "";
    filter();
  } else if (event.key === "Enter" && $("filter").value.trim() !== "") {
    entries.find((entry) => !entry.hidden)?.querySelector("a").click();
  }
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  $("contents").open = true;
  $("filter").focus();
});
document.querySelector('#contents [aria-current]')?.scrollIntoView({ block: "nearest" });
