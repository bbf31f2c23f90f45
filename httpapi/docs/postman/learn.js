// Keeps the token or id of an answer for the requests that follow.
const learned = {
  "POST /client-session": ["clientToken", "clientToken"], "POST /payment-instruments": ["token", "paymentMethodToken"],
  "POST /payments": ["id", "paymentId"], "POST /checkout/payments": ["id", "paymentId"], "POST /required-actions/complete": ["resumeToken", "resumeToken"],
  "POST /management/api-keys": ["id", "apiKeyId"], "POST /management/webhook-endpoints": ["id", "endpointId"], "POST /management/workflows": ["id", "workflowId"],
  "POST /management/users": ["id", "userId"], "POST /management/webhook-listeners": ["id", "listenerId"],
  "POST /management/reconciliation-runs": ["id", "comparisonId"],
};
const at = `${pm.request.method} /${pm.request.url.path.join("/")}`;

pm.test("succeeds", () => pm.expect(pm.response.code, pm.response.text().slice(0, 500)).to.be.within(200, 299));
if (learned[at] && pm.response.code < 300) {
  const [field, name] = learned[at];
  const value = pm.response.json()[field];
  pm.test(`answers ${field}`, () => pm.expect(value).to.be.a("string"));
  pm.collectionVariables.set(name, value);
}
