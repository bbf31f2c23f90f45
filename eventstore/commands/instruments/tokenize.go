package instruments

import (
	"context"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// TokenizeInput is a validated card that was entered in the checkout of a session (D12).
type TokenizeInput struct {
	Session domain.SessionID
	Card    processor.Card
	Vault   bool // vault it for the session's customer (D5.5: paymentFlow VAULT)

	// Of a card that was entered in a form of the processor: Card has the processor's token, and
	// perhaps the cardholder's name.
	Processor processor.Name
	Shown     domain.Card // the part of the card that may be shown
}

// shown returns the part of the card that may be shown.
func (in TokenizeInput) shown() domain.Card {
	if in.Processor != "" {
		return in.Shown
	}
	return domain.NewCard(in.Card.Number, in.Card.ExpirationMonth, in.Card.ExpirationYear, in.Card.CVV != "")
}

// stored returns the card as it is stored: a token stands alone.
func (in TokenizeInput) stored() processor.Card {
	if in.Processor != "" {
		return processor.Card{Token: in.Card.Token}
	}
	return in.Card
}

// Tokenize stores a card and then records its token (D12). A crash in between leaves a card that no
// token names, which expires.
func (s *Instruments) Tokenize(ctx context.Context, by commands.Caller, in TokenizeInput) (instrument.State, error) {
	from, err := s.sessions.Session(ctx, by.Account, in.Session)
	if err != nil {
		return instrument.State{}, err
	}
	shown, path := in.shown(), "$.paymentInstrument.number"
	if in.Processor != "" {
		path = "$.processorToken.network"
	}
	if network := shown.Network; !from.Method.Takes(network) {
		return instrument.State{}, domain.Invalid("PaymentInstrumentRequest", domain.Violation{
			Path: path, Description: fmt.Sprintf("is a card of %s; this checkout takes %s", network, Listed(from.Method.AllowedNetworks)),
		})
	}
	kind := instrument.SingleUse
	if in.Vault {
		if kind = instrument.MultiUse; from.CustomerID == "" {
			return instrument.State{}, domain.Invalid("PaymentInstrumentRequest", domain.Violation{
				Path: "$.paymentFlow", Description: "needs a customerId in the client session",
			})
		}
		release, err := s.saving(ctx, from)
		if err != nil {
			return instrument.State{}, err
		}
		defer release()
		if err := s.maySave(ctx, from); err != nil {
			return instrument.State{}, err
		}
	}
	token, err := s.newToken(from, in.Vault)
	if err != nil {
		return instrument.State{}, err
	}
	analyticsID, err := eventstore.NewUUID(s.Random)
	if err != nil {
		return instrument.State{}, err
	}
	personal, err := s.Secrets.Seal(ctx, secrets.PersonalKeyName(by.Account, from.CustomerID, from.ID),
		domain.Personal{CardholderName: in.Card.CardholderName})
	if err != nil {
		return instrument.State{}, domain.Unavailable(err)
	}
	meta, err := s.RequestMeta(by)
	if err != nil {
		return instrument.State{}, err
	}
	ref := secrets.CardRef{Account: by.Account, Token: token, TokenizedAt: meta.At}
	if err := s.Secrets.PutCard(ctx, ref, in.stored(), from.ExpiresAt); err != nil {
		return instrument.State{}, domain.Unavailable(err)
	}
	command := instrument.Tokenize{Tokenized: instrument.Tokenized{
		At: meta.At, Token: token, Account: by.Account, ExpiresAt: from.ExpiresAt, Session: from.ID,
		CustomerID: from.CustomerID, TokenType: kind, AnalyticsID: analyticsID, Personal: personal,
		Card: shown, Processor: in.Processor,
	}}
	tip, err := s.Log.Instruments.ExecuteNew(ctx, by.Account, token, meta,
		func(state instrument.State) (instrument.Event, error) {
			return instrument.DecideTokenize(state, command)
		})
	if err == nil && in.Vault {
		if err = s.KeepVaulted(ctx, tip.State); err == nil {
			err = s.EndAboveLimit(context.WithoutCancel(ctx), by, tip.State, false)
			if err != nil && domain.ReasonOf(err) != domain.ReasonRateLimitExceeded {
				err = domain.OutcomeUnknown(err) // the card is recorded; the cleaner ends it if it is above a limit
			}
		}
	}
	return tip.State, err
}

// Listed joins the names of networks.
func Listed(networks []domain.Network) string {
	names := make([]string, len(networks))
	for i, network := range networks {
		names[i] = string(network)
	}
	return strings.Join(names, ", ")
}
