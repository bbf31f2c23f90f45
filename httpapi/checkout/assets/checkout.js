// The page of a payment: ties the form to the payment's steps, and shows where they stand.
import { Client, Unknown } from "./api.js";
import { embedded, fit, send } from "./embed.js";
import { Flow } from "./flow.js";
import * as form from "./form.js";
import { keep, kept, nothing, takeToken } from "./store.js";
import { t } from "./words.js";

const $ = (id) => document.getElementById(id);
const sections = document.querySelectorAll("[data-state]");
const settings = document.body.dataset;
const returns = embedded ? "" : settings.return; // the shop's page is there already
const title = document.title;
const button = $("pay");
const action = button.textContent;

// What the button says, as the service takes it: no other price is charged (D12).
const seen = { amount: Number(settings.amount), currencyCode: settings.currency };

// How long a success is shown before the customer is back at the shop.
const farewell = 2500;

const announce = (text) => { $("announcer").textContent = text; };

function trouble(text) {
  if ($("trouble").textContent !== text) $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

// busy locks the form while a payment is under way.
function busy(on) {
  button.disabled = on;
  button.textContent = on ? t("Paying…") : action;
  for (const input of $("card-form").elements) if (input !== button) input.disabled = on;
}

// back is the shop's address with what came of the payment.
function back(payment) {
  const url = new URL(returns);
  if (payment) {
    url.searchParams.set("paymentId", payment.id);
    url.searchParams.set("status", payment.status);
  }
  return url.href;
}

// leave sends the customer to the shop, once: who comes back by the browser's button wants to be here.
function leave(payment) {
  keep({ returned: true });
  location.assign(back(payment));
}

// because says why a payment was declined, where an issuer allows that.
const because = {
  INSUFFICIENT_FUNDS: t("You have not been charged: the account of this card has too little money for this payment. Another card may work."),
  EXPIRED_CARD: t("You have not been charged: this card has expired. Use another card."),
};

function show(state, payment) {
  const section = document.querySelector(`[data-state="${state}"]`);
  if (returns) for (const link of document.querySelectorAll("[data-back]")) link.href = back(payment);
  busy(state !== "form");
  if (!section.hidden) return;
  for (const other of sections) other.hidden = other !== section;
  // An authorization reserves the money: nothing is paid yet.
  if (payment?.status === "AUTHORIZED") for (const text of section.querySelectorAll("[data-reserved]")) text.textContent = text.dataset.reserved;
  for (const text of section.querySelectorAll("[data-because]")) text.textContent = because[payment?.declineReason] ?? text.textContent;
  const heading = section.querySelector("h1");
  document.title = state === "form" ? title : `${heading.textContent} · ${$("merchant").textContent}`;
  if (!embedded || state !== "form") heading.focus(); // the shop's page keeps the focus at first
  report(state, payment);
  if (state === "succeeded" && returns && !kept().returned) setTimeout(() => leave(payment), farewell);
}

const failures = ["declined", "failed", "aborted", "cancelled", "unclear", "expired"];

// report tells the shop's page around this one how the payment ended.
function report(state, { id: paymentId, status, declineReason } = {}) {
  if (state === "succeeded") send("success", { paymentId, status });
  else if (failures.includes(state)) send("failure", { reason: state.toUpperCase(), paymentId, status, declineReason });
}

// tokenize turns the card into a token, which is all that is kept of it; "" when it was not accepted.
async function tokenize(client) {
  try {
    return (await client.tokenize(form.entered())).token;
  } catch (error) {
    if (error.status === 401 || error.id === "ClientSessionValidationError") show("expired");
    else if (error instanceof Unknown) trouble(t("No connection to the payment service. You have not been charged; try again."));
    else if (!form.refused(error.violations ?? [])) trouble(t("The card was not accepted. You have not been charged."));
    return "";
  }
}

async function submit(client, flow) {
  if (button.disabled) return;
  trouble("");
  const saved = form.chosen();
  if (!saved && form.check(announce) > 0) return;
  busy(true);
  announce(t("Paying…"));
  const token = saved || await tokenize(client);
  if (token) {
    form.forget();
    flow.begin(token, seen);
  } else if (!document.querySelector('[data-state="form"]').hidden) {
    unlock();
  }
}

function unlock() {
  busy(false);
  announce("");
  (document.querySelector("[aria-invalid]") ?? button).focus();
}

// begin takes the token out of the address, and goes on where the tab was with it.
function begin() {
  const { token, hide } = takeToken();
  const known = kept();
  if (keep({ ...(known.clientToken === token ? {} : nothing), clientToken: token })) hide();
  if (settings.payment && settings.payment !== kept().payment) keep({ payment: settings.payment, resumeToken: undefined }); // of another tab
  else if (settings.attempt && !kept().payment) keep({ attempt: settings.attempt });
  const client = new Client(token);
  const flow = new Flow(client, { manual: settings.manual === "true", sandbox: settings.sandbox === "true" }, { show, trouble });
  form.watch();
  $("card-form").addEventListener("input", () => send("change", form.progress()));
  $("card-form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit(client, flow);
  });
  for (const retry of document.querySelectorAll("[data-retry]")) retry.addEventListener("click", () => flow.again());
  addEventListener("pageshow", (event) => event.persisted && location.reload()); // back from the shop: look anew
  const now = kept();
  if (now.method || now.attempt || now.payment) show("working");
  keep({ changed: undefined });
  flow.run().then(() => now.changed && tellChange());
}

// tellChange says, on the page as it is now, why nothing was paid on the page as it was.
function tellChange() {
  if (button.disabled) return; // there is nothing to pay any more
  trouble(t("The amount has changed: it is {total} now. You have not been charged; check it and pay again.", { total: $("amount").textContent }));
}

begin();
fit();
send("ready");
