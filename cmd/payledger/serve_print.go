package main

import (
	"encoding/json"
	"fmt"
	"io"

	"payledger/eventstore/commands"
)

// announcer prints what serve says on stdout: credentials that were made, and that the service is ready. Scripts read one
// JSON object a line, people on a terminal a text (I1).
type announcer struct {
	out    io.Writer
	people bool
	made   *commands.Credentials
}

// credentials shows them, once.
func (a *announcer) credentials(made *commands.Credentials) error {
	a.made = made
	if !a.people {
		return a.line(map[string]any{"credentials": made})
	}
	printCredentials(a.out, *made)
	_, err := fmt.Fprintln(a.out)
	return printed(err)
}

// ready says that requests are taken, and where.
func (a *announcer) ready(r Ready, environment string) error {
	if !a.people {
		return a.line(r)
	}
	text := fmt.Sprintf("payledger is ready (%s).\n\n  API         %s\n  reference   %s/openapi.yaml\n  operators   %s/metrics, /readyz\n", environment, r.API, r.API, r.Admin)
	if r.Simulator != "" {
		text += "  processors  " + r.Simulator + "\n"
	}
	if r.NATS != "" {
		text += "  NATS        " + r.NATS + "\n"
	}
	if a.made != nil {
		text += fmt.Sprintf("\nTry, in another terminal, the curls of the README:\n\n  export PAYLEDGER_URL=%s PAYLEDGER_API_KEY=%s\n", r.API, a.made.APIKey)
	}
	_, err := fmt.Fprint(a.out, text+"\nCtrl-C stops it.\n")
	return printed(err)
}

func (a *announcer) line(v any) error {
	lines := json.NewEncoder(a.out)
	lines.SetEscapeHTML(false)
	return printed(lines.Encode(v))
}
