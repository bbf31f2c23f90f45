// Package docs has the documentation pages below /docs: the reference of every call, errorId,
// webhook and event, and guides. The reference is made from openapi.yaml and asyncapi.yaml, so that
// it cannot differ from the documents that validate requests. The guides are Markdown in the folder
// guides, which a reader of the repository reads as it is; package docstest takes their examples
// for tests.
//
// Rules: no file of a third party, no inline script or style, and no connection from a page: its
// content security policy forbids them. Pages work without a script. The script filters the
// contents, copies examples, and puts the reader's sandbox key into copied text; the key stays in
// the tab's session storage. Pages show no secret. Every example is real: a test runs each curl
// command of the pages against the whole service, and the recorded answers fit openapi.yaml.
//
// The package must not know: the ledger, accounts, API keys. It gets the documents, the calls with
// their scopes, and the errors.
//
// Design notes:
//   - The two documents are read as YAML nodes, which keep the order of calls and fields.
//     kin-openapi reads them into maps.
//   - The first request reads the documents. A page is made at its own first request, and kept
//     compressed: about 0.5 MB for 150 pages. A start takes no longer, and a later request costs no
//     rendering.
//   - A page for each call, and not one for all: a page loads at once on a telephone, and its
//     address names the call. The contents beside each page list everything, and their filter finds
//     a call by a word.
//   - answers, errors and webhooks have recorded answers, by operationId and errorId, and webhook
//     bodies by eventType. Ids, keys and tokens in them are always the same examples, which
//     openapi.yaml has in its requests, too.
package docs
