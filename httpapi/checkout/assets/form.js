// The card form: groups what is typed, tells the brand, and says beside a field what is wrong with it.
import * as card from "./card.js";
import { t } from "./words.js";

const $ = (id) => document.getElementById(id);
const fields = ["number", "expiry", "cvv", "name"];

// rewrite sets a field's text and keeps the cursor behind the digit that it was behind.
function rewrite(input, text) {
  if (input.value === text) return;
  const atEnd = input.selectionStart === input.value.length;
  const before = card.digitsOf(input.value.slice(0, input.selectionStart)).length;
  input.value = text;
  if (document.activeElement !== input) return;
  let at = text.length;
  if (!atEnd) for (at = 0; card.digitsOf(text.slice(0, at)).length < before && at < text.length;) at++;
  input.setSelectionRange(at, at);
}

function onNumber() {
  const typed = card.digitsOf($("number").value);
  const brand = card.brandOf(typed);
  rewrite($("number"), card.grouped(typed.slice(0, card.longest(brand)), brand));
  if ($("brand").textContent !== brand.name) $("brand").textContent = brand.name;
  $("cvv").maxLength = brand.cvv;
  $("cvv").placeholder = brand.cvv === 4 ? "1234" : "123";
  $("cvv-hint").textContent = brand.cvv === 4 ? t("4 digits on the front") : t("3 digits on the back");
}

function onExpiry(event) {
  const deleting = event.inputType?.startsWith("delete");
  const digits = deleting ? card.digitsOf($("expiry").value) : card.expiryDigits($("expiry").value);
  const parted = digits.length > 2 || (digits.length === 2 && !deleting);
  rewrite($("expiry"), parted ? `${digits.slice(0, 2)} / ${digits.slice(2)}` : digits);
}

function onCvv() {
  rewrite($("cvv"), card.digitsOf($("cvv").value).slice(0, $("cvv").maxLength));
}

// values are what the fields hold.
function values() {
  const number = card.digitsOf($("number").value);
  return {
    number, expiry: card.expiryDigits($("expiry").value), cvv: card.digitsOf($("cvv").value),
    name: $("name").value.trim(), brand: card.brandOf(number),
  };
}

const problemOf = (field) => t(problem(field));

function problem(field) {
  const v = values();
  switch (field) {
    case "number": return card.numberProblem(v.number);
    case "expiry": return card.expiryProblem(v.expiry, document.body.dataset.oldest);
    case "cvv": return card.cvvProblem(v.cvv, v.brand.cvv);
    default: return v.name ? "" : t("Enter the name on the card.");
  }
}

// tell shows a field's problem, or takes it away.
export function tell(field, problem) {
  $(`${field}-error`).textContent = problem;
  if (problem) $(field).setAttribute("aria-invalid", "true");
  else $(field).removeAttribute("aria-invalid");
  return problem;
}

// check tells every problem, and goes to the first field that has one. It gives their number.
export function check(announce) {
  const wrong = fields.filter((field) => tell(field, problemOf(field)));
  if (wrong.length === 0) return 0;
  announce(wrong.map(problemOf).join(" "));
  $(wrong[0]).focus();
  return wrong.length;
}

// progress tells how far the form is: no digit of a card is in it.
export function progress() {
  const wrong = chosen() ? [] : fields.filter(problem);
  return { complete: wrong.length === 0, brand: chosen() ? "" : values().brand.name, invalid: wrong.filter((field) => $(field).hasAttribute("aria-invalid")) };
}

// entered is the card as the service takes it.
export function entered() {
  const v = values();
  return {
    number: v.number, cvv: v.cvv, expirationMonth: v.expiry.slice(0, 2), expirationYear: `20${v.expiry.slice(2)}`,
    cardholderName: v.name,
  };
}

// places of the service's violations, by field.
const places = { number: "number", cvv: "cvv", expirationMonth: "expiry", expirationYear: "expiry", cardholderName: "name" };

// refused shows what the service found wrong; false when none of it belongs to a field.
export function refused(violations) {
  const named = violations.map((v) => places[v.path.split(".").pop()]).filter(Boolean);
  for (const field of named) tell(field, t("Check this: it was not accepted."));
  if (named.length > 0) $(named[0]).focus();
  return named.length > 0;
}

// forget empties the card, but not its owner's name.
export function forget() {
  for (const field of ["number", "expiry", "cvv"]) $(field).value = "";
  for (const field of fields) tell(field, "");
  onNumber();
}

const choices = document.querySelectorAll('input[name="method"]');

// chosen is the token of the customer's card that is to pay; "" for the card that is entered.
export const chosen = () => [...choices].find((choice) => choice.checked)?.value ?? "";

// fillIn enters a card to try, in the sandbox: any date to come and any security code will do.
function fillIn(number) {
  const other = [...choices].find((choice) => choice.value === "");
  if (other) other.checked = true;
  $("new-card").hidden = false;
  const year = String((new Date().getFullYear() + 3) % 100).padStart(2, "0");
  const code = "1234".slice(0, card.brandOf(number).cvv);
  const texts = { number, expiry: `12 / ${year}`, cvv: code, name: $("name").value.trim() || "Test Customer" };
  $("number").value = number;
  onNumber();
  for (const field of fields) {
    if (field !== "number") $(field).value = texts[field];
    tell(field, "");
  }
  $("pay").focus();
}

// watch makes the fields answer to what is typed.
export function watch() {
  const unfold = () => { $("new-card").hidden = chosen() !== ""; };
  for (const choice of choices) choice.addEventListener("change", unfold);
  unfold();
  for (const test of document.querySelectorAll("[data-test]")) test.addEventListener("click", () => !$("pay").disabled && fillIn(card.digitsOf(test.dataset.test)));
  $("number").addEventListener("input", onNumber);
  $("expiry").addEventListener("input", onExpiry);
  $("cvv").addEventListener("input", onCvv);
  for (const field of fields) {
    $(field).addEventListener("input", () => $(field).hasAttribute("aria-invalid") && !problemOf(field) && tell(field, ""));
    $(field).addEventListener("blur", () => $(field).value && tell(field, problemOf(field)));
  }
}
