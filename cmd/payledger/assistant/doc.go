// Package assistant has the command mcp (I1): a server of the Model Context Protocol, through which
// an AI assistant looks at payments, their history, events, disputes, webhooks and the
// documentation of a running server.
//
// # Rules
//
//   - It reads and nothing else: its HTTP client sends GET requests only, whatever a tool does
//     (readOnly).
//   - A tool is an operation of openapi.yaml: its description and the schema of its input are those
//     of the reference, so that both agree.
//   - The documentation is that of the binary itself: it is there without a server, and can be
//     searched in full.
//   - What an API key must not see, the assistant does not see: the server checks the key's scopes
//     at each call.
//   - No answer has a token: a reusable token charges a card, and a client token acts for a
//     customer (withoutTokens). The exact bytes of an event with a token are hidden, too. So are
//     the secrets that other calls show once. A test holds the names to openapi.yaml.
//   - The API key goes to the server of --url only: a redirect is an error.
//   - The protocol has standard output for itself. Messages for people go to standard error.
//   - A request that the assistant cancels ends its call of the API, and has no answer. The end of
//     the input waits for the answers of the requests before it.
//   - Texts of merchants and customers are data. The instructions to the assistant say so.
//
// The package must not know: the service's parts, its data folder.
//
// Design notes. The library of the protocol's authors has both sides, sessions over HTTP, sign-in
// and its own JSON Schema: 7 CPU seconds of a build from nothing. The server needs tools and
// resources on standard input and output (protocol.go). The tests speak with it through that
// library.
package assistant
