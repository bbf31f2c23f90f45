const { createHmac, timingSafeEqual } = require("node:crypto");

// headers: the request's headers, names in lower case. body: a Buffer of the raw bytes. secrets: two during a rotation.
function verifyWebhook(headers, body, secrets, now = Date.now() / 1000, tolerance = 180) {
  if (secrets.length === 0 || secrets.includes("")) return false;
  const given = ["x-signature-primary", "x-signature-secondary"].map((name) => Buffer.from(headers[name] ?? ""));
  let fits = false;
  for (const secret of secrets) {
    const expected = Buffer.from(createHmac("sha256", secret).update(body).digest("base64"));
    for (const text of given) {
      if (text.length === expected.length && timingSafeEqual(text, expected)) fits = true;
    }
  }
  if (!fits) return false;
  let fields;
  try { fields = JSON.parse(body); } catch { return false; }
  if (fields === null || typeof fields !== "object") return false;
  if (!("signedAt" in fields)) { // the dashboard's test message
    return Object.keys(fields).length === 1 && typeof fields.message === "string";
  }
  const at = fields.signedAt;
  return typeof at === "string" && /^[0-9]{1,12}$/.test(at) && Math.abs(now - Number(at)) <= tolerance;
}
