// Makes what a request needs, so that each request works by itself, and all of them in a row. Set the variable ownIds to "true" to send
// requests with your own ids instead.
const vars = pm.collectionVariables;
const at = `${pm.request.method} /${pm.request.url.path.join("/")}`;
const merchant = { "X-API-KEY": pm.variables.get("apiKey"), "X-API-VERSION": "2.4" };
const customer = (token) => ({ "X-Client-Token": token });

const call = (method, path, body, headers = merchant) => new Promise((resolve, reject) => pm.sendRequest({
  url: pm.variables.get("url") + path, method,
  header: Object.entries({ "Content-Type": "application/json", ...headers }).map(([key, value]) => ({ key, value })),
  body: body && { mode: "raw", raw: JSON.stringify(body) },
}, (error, answer) => {
  if (error || answer.code >= 300) reject(error ?? new Error(`${method} ${path}: ${answer.code} ${answer.text()}`));
  else resolve(answer.json());
}));

const pause = () => new Promise((done) => setTimeout(done, 250));
async function first(path) { // the first of a list that fills
  for (let tries = 0; tries < 240; tries++) {
    const { data } = await call("GET", path);
    if (data.length > 0) return data[0].id;
    await pause();
  }
  throw new Error(`GET ${path} stays empty`);
}

async function session(fields = {}) {
  const order = { orderId: "order-1001", amount: 2500, currencyCode: "EUR", customerId: "customer-7", ...fields };
  const { clientToken } = await call("POST", "/client-session", order);
  vars.set("clientToken", clientToken);
}
async function card(number = "4111111111111111", fields = {}) {
  await session(fields);
  const paymentInstrument = { number, cvv: "737", expirationMonth: "03", expirationYear: "2030", cardholderName: "Ada Lovelace" };
  const { token } = await call("POST", "/payment-instruments", { paymentInstrument }, customer(vars.get("clientToken")));
  vars.set("paymentMethodToken", token);
}
async function paid(number, fields) {
  await card(number, fields);
  const payment = await call("POST", "/payments", { paymentMethodToken: vars.get("paymentMethodToken") });
  vars.set("paymentId", payment.id);
  vars.set("actionToken", payment.requiredAction?.clientToken ?? "");
}
async function captured(number) {
  await paid(number);
  await call("POST", `/payments/${vars.get("paymentId")}/capture`, {});
}
async function checked() { // the customer has passed a 3-D Secure check
  await paid("4916994064252017");
  const { resumeToken } = await call("POST", "/required-actions/complete", { outcome: "AUTHENTICATED" }, customer(vars.get("actionToken")));
  vars.set("resumeToken", resumeToken);
}
async function vaulted() {
  await card();
  await call("POST", `/payment-instruments/${vars.get("paymentMethodToken")}/vault`, { customerId: "customer-7" });
}
async function attempted() {
  await card(undefined, { approvalMode: "MANUAL" });
  const { currentAttempt } = await call("POST", "/payment-attempts", { paymentMethodToken: vars.get("paymentMethodToken") }, customer(vars.get("clientToken")));
  vars.set("attemptId", currentAttempt.id);
}
const made = (path, body, name) => async () => vars.set(name, (await call("POST", path, body())).id);
const endpoint = made("/management/webhook-endpoints", () => ({ url: pm.variables.get("webhookUrl"), description: "shop" }), "endpointId");
const workflow = made("/management/workflows", () => ({ name: "Capture small orders", trigger: { eventType: "PAYMENT.STATUS", status: "AUTHORIZED" }, condition: "payment.amount <= 100", actions: [{ type: "capture" }] }), "workflowId");
const user = made("/management/users", () => ({ email: `grace+${Date.now()}@shop.example`, role: "operator" }), "userId");
const listener = made("/management/webhook-listeners", () => ({ description: "my machine" }), "listenerId");
const key = made("/management/api-keys", () => ({ name: "shop backend", scopes: ["transactions:retrieve"] }), "apiKeyId");
const replay = made("/management/webhook-replays", () => ({ endpointId: vars.get("endpointId"), from: "2026-01-01T00:00:00Z", to: "2040-01-01T00:00:00Z" }), "replayId");
const comparison = made("/management/reconciliation-runs", () => ({ processor: "ADYEN" }), "comparisonId");
async function delivered() {
  await endpoint();
  await paid();
  vars.set("deliveryId", await first(`/management/webhook-deliveries?endpointId=${vars.get("endpointId")}`));
}
async function disputed() {
  await captured("4000000000000259");
  vars.set("disputeId", await first(`/management/disputes?paymentId=${vars.get("paymentId")}`));
}
const unless = (name, make) => async () => vars.get(name) || make(); // the id of the request before is good
const anyPayment = unless("paymentId", paid);
const estimated = () => paid(undefined, { paymentMethod: { authorizationType: "ESTIMATED" } });

const needs = {
  "GET /client-session": unless("clientToken", session), "PATCH /client-session": session, "POST /payment-instruments": session, "POST /payments": card,
  "GET /checkout/configuration": session, "POST /checkout/payments": card, "GET /checkout/payments/:id": paid, "POST /checkout/payments/:id/resume": checked,
  "POST /required-actions/complete": () => paid("4916994064252017"), "POST /payments/:id/resume": checked,
  "POST /payments/:id/capture": paid, "POST /payments/:id/cancel": paid, "POST /payments/:id/refund": captured, "POST /payments/:id/adjust-authorization": estimated,
  "POST /management/payments/:id/capture": paid, "POST /management/payments/:id/cancel": paid, "POST /management/payments/:id/refund": captured,
  "POST /payment-instruments/:token/vault": card, "POST /payment-instruments/:token/default": vaulted, "DELETE /payment-instruments/:token": vaulted,
  "POST /payment-attempts": () => card(undefined, { approvalMode: "MANUAL" }), "GET /payment-attempts/:id": attempted,
  "POST /payment-attempts/:id/approve": attempted, "POST /payment-attempts/:id/abort": attempted,
  "DELETE /management/api-keys/:id": unless("apiKeyId", key), "PATCH /management/users/:id": unless("userId", user), "DELETE /management/users/:id": unless("userId", user),
  "PATCH /management/webhook-endpoints/:id": endpoint, "DELETE /management/webhook-endpoints/:id": endpoint, "POST /management/webhook-endpoints/:id/test": endpoint,
  "DELETE /management/webhook-listeners/:id": unless("listenerId", listener),
  "GET /management/webhook-deliveries/:id": delivered, "POST /management/webhook-deliveries/:id/resend": delivered, "GET /management/webhook-deliveries": delivered,
  "GET /webhook-deliveries": endpoint, "POST /management/webhook-replays": endpoint, "GET /management/webhook-replays/:id": async () => { await delivered(); await replay(); },
  "GET /management/reconciliation-runs/:id": unless("comparisonId", comparison), "GET /management/disputes": disputed, "GET /management/disputes/:id": disputed,
  "POST /management/payments/:id/erase": () => paid(undefined, { customerId: undefined }), "POST /management/customers/:customerId/erase": paid, "GET /management/customers/:customerId": paid,
};

function prepare() {
  if (pm.variables.get("ownIds") === "true") return undefined;
  if (needs[at]) return needs[at]();
  if (at.includes("/payments/:id")) return anyPayment();
  if (at.includes("/workflows/:id")) return unless("workflowId", workflow)();
  return undefined;
}

Promise.resolve(prepare()).catch((error) => pm.test(`prepares ${at}`, () => { throw error; }));
