package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/proof"
	"payledger/projections/history"
)

type audited struct {
	history.Entry
	Event json.RawMessage `json:"event"`
}

func (a audited) String() string { return fmt.Sprintf("%d %s", a.Revision, a.Type) }

func (s *story) audit(ctx context.Context) error {
	if _, err := s.delivered(ctx); err != nil { // the history has the receiver's answers, too
		return err
	}
	var list page[audited]
	path := "/payments/" + s.paid.ID + "/events?expand=webhooks,processor"
	err := s.call(ctx, request(http.MethodGet, path, nil), &list, func() string {
		return terminal.Count(len(list.Data), "event") + ", each with the calls of the processor and the webhooks beside it"
	})
	if err != nil {
		return err
	}
	link, err := s.replay(list.Data)
	if err != nil {
		return err
	}
	s.out.line("   every hash computed from the bytes of its event and the hash before; the last is %s…", link[:24])
	return s.prove(ctx, link, len(list.Data))
}

func (s *story) replay(entries []audited) (link string, err error) {
	last, webhooks := make([]byte, sha256.Size), 0
	for _, e := range entries {
		sum := sha256.Sum256(append(bytes.Clone(last), e.Raw...))
		if last = sum[:]; hex.EncodeToString(last) != e.Hash {
			return "", fmt.Errorf("event %s has the hash %s, computed is %x", e, e.Hash, last)
		}
		by := e.Actor
		if e.ActorName != "" {
			by = fmt.Sprintf("key %q", e.ActorName)
		}
		s.out.line("   %d  %-17s  %s by %s", e.Revision, e.Payment.Status, e.Type, by)
		for _, c := range e.Processor {
			s.out.line("      processor  %-9s key %s", c.Step, c.Key)
		}
		for _, w := range e.Webhooks {
			if w.Outcome != "SUCCEEDED" || len(w.Attempts) == 0 {
				return "", fmt.Errorf("event %s has the webhook %+v, expected a successful one", e, w)
			}
			webhooks++
			s.out.line("      webhook    %s, answered %d", w.EventType, w.Attempts[len(w.Attempts)-1].StatusCode)
		}
	}
	if len(entries) != s.shown[s.paid.ID] || webhooks == 0 {
		return "", fmt.Errorf("the history has %d events with %d webhooks, expected %d events", len(entries), webhooks, s.shown[s.paid.ID])
	}
	return hex.EncodeToString(last), nil
}

// prove reads the payment's proof, checks it without the service, and checks that a changed byte is
// found.
func (s *story) prove(ctx context.Context, link string, events int) error {
	var known struct {
		Key string `json:"verifierKey"`
	}
	err := s.call(ctx, request(http.MethodGet, "/verifier-key", nil), &known, func() string { return "the key that checks signatures: " + known.Key })
	if err != nil {
		return err
	}
	var file proof.File
	if err := s.call(ctx, request(http.MethodGet, "/payments/"+s.paid.ID+"/proof", nil), &file, func() string {
		return "a file for the auditor; the checks below need no server"
	}); err != nil {
		return err
	}
	checked, err := proof.Check(file, known.Key)
	if err != nil {
		return err
	}
	if len(checked.Events) != events || checked.Events[events-1].Hash != link {
		return fmt.Errorf("the proof has %d events, expected %d up to the hash %s", len(checked.Events), events, link)
	}
	s.out.line("   the proof holds: %s, whole and unchanged, in a signed log of %s", terminal.Count(events, "event"), terminal.Count(checked.Tree.Size, "event"))
	file.Events[1].Raw[0] ^= 1
	if _, err = proof.Check(file, known.Key); err == nil {
		return errors.New("the proof holds although a byte of event 2 was changed")
	}
	s.out.line("   one byte changed: %s", err)
	return nil
}
