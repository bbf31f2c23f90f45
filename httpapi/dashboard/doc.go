// Package dashboard serves /dashboard, where a merchant's staff look at payments, act on them and
// configure the account (§1, §5, §6.1, D20).
//
// Pages are html/template, rendered on the server. Links and forms work without the script; the
// script adds live refresh, keyboard shortcuts and messages about a lost connection. Nothing comes
// from a third party, and no build step is needed.
//
// Every page reads and changes data through the calls of D20 (API.Do), in the name of the signed-in
// user: the same handlers, validation and rules as for API keys. So the dashboard has no power that
// the API lacks, and a role is checked on the server.
//
// Rules:
//   - A GET changes nothing. A POST must come from a page of this service
//     (http.CrossOriginProtection).
//   - The session cookie is __Host-, HttpOnly and SameSite=Lax. Its content is signed (package
//     users).
//   - Every page has a content security policy without inline code. Templates escape all text.
//   - A form that changes money carries an idempotency key from the page that showed it: a double
//     click, a second tab or the back button repeats the same request (D9).
//   - A form that replaces settings carries a mark of those that its page showed. If others have
//     changed them meanwhile, nothing is done: the form comes back with its input and with the
//     settings that apply now.
//   - After a refusal, the form comes back with its input and the reasons.
//   - Secrets are shown once, in the answer to the request that made them, and are not stored by
//     the browser (no-store).
//
// The package must not know: how events are stored, how passwords are checked, what a handler does.
package dashboard
