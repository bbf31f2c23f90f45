// Package developer has the commands for the people who connect a shop to payledger (I1): Payments
// looks payments up, Trigger makes something happen in the sandbox, Listen brings webhooks to a
// program on this machine, and Logs shows the requests of an account as they come.
//
// # Rules
//
//   - Each command is a client of a running server: it has an API key, uses package client, and
//     knows only what the API answers.
//   - Trigger refuses a key of production before it sends anything: it makes payments, disputes and
//     failures.
//   - A text of the server on a terminal cannot move the cursor or hide other text (package
//     terminal).
//
// The package must not know: the service's parts, its data folder.
package developer
