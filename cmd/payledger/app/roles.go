package app

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/nodes"
	"payledger/httpapi"
	"payledger/httpapi/passing"
	"payledger/projections"
)

// role is the role of this node.
func (a *App) role() nodes.Role { return cmp.Or(a.Options.Role, nodes.RoleAll) }

// keepsViews reports whether this node has views, plans webhooks, runs workflows and recovers
// operations.
func (a *App) keepsViews() bool { return a.role().KeepsViews() }

var errNoViews = errors.New("this node keeps no views (--role api): send the command to a node with --role all or views")

// The first byte of a call between nodes is its kind.
const (
	callRequest  = 'r' // a request to the API (package passing)
	callDisputes = 'd' // the ids of the disputes beside a refund
	callCards    = 'c' // cards that were saved
	callSession  = 's' // the account of a client session
)

// connectNodes returns the handler of the API's address. A node with views also answers the calls
// of nodes without them.
func (a *App) connectNodes(api *httpapi.API) (http.Handler, error) {
	if a.Nodes == nil {
		return api, nil
	}
	if !a.keepsViews() {
		door := passing.NewDoor(&passing.Door{
			Own: api, Seen: a.Ledger.Store.Appended, Refuse: api.Unavailable, NewID: a.requestID, Bodies: a.Intake.Bodies, Clients: a.Intake.Clients, Tally: a.Intake.Tally, Logger: a.log,
			Call: func(ctx context.Context, request []byte) (passing.Answer, error) {
				return a.call(ctx, callRequest, request)
			},
		})
		own := a.answers
		a.answers = func() map[int]uint64 {
			all := own()
			all[http.StatusServiceUnavailable] += door.Refused()
			all[passing.StatusGone] += door.Gone()
			return all
		}
		return door, nil
	}
	server := &passing.Server{API: api, WithID: httpapi.WithID, Shown: a.Views.Reach, Refuse: api.Unavailable}
	var err error
	a.endCalls, err = a.Nodes.AnswerCalls(func(ctx context.Context, request []byte, send func([]byte) error) error {
		if len(request) == 0 {
			return errors.New("an empty call")
		}
		switch kind, request := request[0], request[1:]; kind {
		case callRequest:
			return server.Handle(ctx, request, send)
		case callDisputes:
			return answerQuery(ctx, request, send, a.disputesBeside)
		case callCards:
			return answerQuery(ctx, request, send, a.Views.SavedCards)
		case callSession:
			return answerQuery(ctx, request, send, a.sessionOwner)
		default:
			return fmt.Errorf("a call of a newer build: %q", kind)
		}
	})
	return api, err
}

func (a *App) requestID() string {
	id, err := eventstore.NewUUID(cryptorand.Reader)
	if err != nil {
		a.log.Error().Err(err).Msg("no request id")
	}
	return id
}

// reader reads the views of this node, or of another one.
func (a *App) reader() reader { return reader{a.Views, a} }

// reader is this node's projections. On a node without views it asks another node for the lists
// that commands need.
type reader struct {
	*projections.Projections
	app *App
}

type disputesOf struct {
	Account domain.AccountID
	Payment domain.PaymentID
}

// DisputesBesideRefund returns the disputes of a payment that are open or lost (D22.2). The other
// node has their ids, this one their states.
func (r reader) DisputesBesideRefund(ctx context.Context, account domain.AccountID, id domain.PaymentID) (all []dispute.State, err error) {
	if r.app.keepsViews() {
		return r.Projections.DisputesBesideRefund(ctx, account, id)
	}
	var ids []domain.DisputeID
	if err := r.app.query(ctx, callDisputes, disputesOf{account, id}, &ids); err != nil {
		return nil, err
	}
	for _, id := range ids {
		d, err := r.Dispute(ctx, account, id)
		if err != nil {
			return nil, err
		}
		if d.BesideRefund() {
			all = append(all, d)
		}
	}
	return all, nil
}

func (a *App) disputesBeside(ctx context.Context, of disputesOf) (ids []domain.DisputeID, err error) {
	found, err := a.Views.DisputesBesideRefund(ctx, of.Account, of.Payment)
	for _, d := range found {
		ids = append(ids, d.ID)
	}
	return ids, err
}

// lookedAt is the number of accounts up to which a node without views looks under each of them for
// a session: microseconds each. Above it, it asks a node with views first, so that access tokens
// that somebody invents cost little.
const lookedAt = 100

type ownerOf struct {
	Account domain.AccountID
	Found   bool
}

// SessionAccount returns the account of a client session, false when there is no such session.
func (r reader) SessionAccount(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error) {
	if r.app.keepsViews() || !domain.ValidID(string(id)) || r.AccountCount() <= lookedAt {
		return r.Projections.SessionAccount(ctx, id)
	}
	var of ownerOf
	if err := r.app.query(ctx, callSession, id, &of); err != nil { // checkouts go on without a node with views
		return r.Projections.SessionAccount(ctx, id)
	}
	return of.Account, of.Found, nil
}

func (a *App) sessionOwner(ctx context.Context, id domain.SessionID) (ownerOf, error) {
	account, found, err := a.Views.SessionAccount(ctx, id)
	return ownerOf{account, found}, err
}

// SavedCards implements commands.Customers.
func (r reader) SavedCards(ctx context.Context, of commands.SavedCards) (cards []commands.SavedCard, err error) {
	if r.app.keepsViews() {
		return r.Projections.SavedCards(ctx, of)
	}
	err = r.app.query(ctx, callCards, of, &cards)
	return cards, err
}

// query asks a node with views.
func (a *App) query(ctx context.Context, kind byte, question, into any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	answer, err := a.call(ctx, kind, text)
	if err == nil {
		defer answer.Close()
		for text = text[:0]; err == nil; {
			var piece []byte
			if piece, err = answer.Next(ctx); err == nil {
				text = append(text, piece...)
			}
		}
		if errors.Is(err, io.EOF) {
			err = json.Unmarshal(text, into)
		}
	}
	if err != nil {
		return &domain.Error{
			Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable, Err: err,
			Message: "No node that keeps lists answers now.", Recovery: "Repeat the request.",
		}
	}
	return nil
}

func answerQuery[Q, A any](ctx context.Context, request []byte, send func([]byte) error, answer func(context.Context, Q) (A, error)) error {
	var question Q
	if err := json.Unmarshal(request, &question); err != nil {
		return err
	}
	found, err := answer(ctx, question)
	if err != nil {
		return err
	}
	text, err := json.Marshal(found)
	for err == nil && len(text) > 0 {
		n := min(len(text), nodes.MaxPiece)
		err, text = send(text[:n]), text[n:]
	}
	return err
}
