package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/codec"
)

// kindCardTokens is the kind of the processors' tokens of a vaulted card:
// card-tokens.<account>.<token>. The value is sealed and destroyed as the card is. A token can be
// lost: the next payment then sends the card's number.
const kindCardTokens = "card-tokens"

func (r CardRef) tokensName() domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindCardTokens, string(r.Account), string(r.Token)}, "."))
}

// keptNames returns the names of vaulted cards, and of their tokens.
func keptNames(refs []CardRef) []domain.SecretID {
	names := make([]domain.SecretID, 0, 2*len(refs))
	for _, ref := range refs {
		names = append(names, ref.keptName(), ref.tokensName())
	}
	return names
}

// CardToken is a processor's token of a vaulted card, for one merchant account.
type CardToken struct {
	Processor  processor.Name `json:"processor"`
	MerchantID string         `json:"processorMerchantId"`
	Token      string         `json:"token"`
}

func (t CardToken) of(other CardToken) bool {
	return t.Processor == other.Processor && t.MerchantID == other.MerchantID
}

// CardToken returns the token of a vaulted card at a processor's merchant account; "" if there is
// none.
func (v *Store) CardToken(ctx context.Context, ref CardRef, of processor.Name, merchant string) (string, error) {
	name := ref.tokensName()
	if _, here := v.boxes.get(name, v.now()); !here { // most cards have none
		there, err := v.bytes.Stands(string(name))
		if err != nil || !there {
			return "", err
		}
	}
	all, err := v.cardTokens(ctx, name)
	for _, t := range all {
		if t.of(CardToken{Processor: of, MerchantID: merchant}) {
			return t.Token, err
		}
	}
	return "", err
}

func (v *Store) cardTokens(ctx context.Context, name domain.SecretID) (all []CardToken, err error) {
	stored, err := v.cached(ctx, name)
	if err == nil {
		stored, err = v.openTokens(ctx, name, stored)
	}
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return all, codec.Unmarshal(stored, &all)
}

func (v *Store) openTokens(ctx context.Context, name domain.SecretID, stored []byte) ([]byte, error) {
	text, marked := bytes.CutPrefix(stored, []byte{sealedMark})
	if !marked {
		return nil, ErrSealed
	}
	var sealed domain.Sealed
	if err := codec.Unmarshal(text, &sealed); err != nil {
		return nil, err
	}
	return v.openOwned(ctx, name, sealed)
}

// KeepCardToken stores a token of a vaulted card, in the place of an earlier one of the same
// merchant account. owner is as for KeepCard. The caller then ensures that the card is still
// vaulted. If two processes do so at the same time, one of the tokens may be lost.
func (v *Store) KeepCardToken(ctx context.Context, ref CardRef, owner domain.SecretID, token CardToken) error {
	return v.changeCardTokens(ctx, ref, owner, func(all []CardToken) []CardToken {
		if slices.Contains(all, token) {
			return all
		}
		return append(slices.DeleteFunc(slices.Clone(all), token.of), token)
	})
}

// ForgetCardToken destroys the token of a vaulted card at a processor's merchant account.
func (v *Store) ForgetCardToken(ctx context.Context, ref CardRef, owner domain.SecretID, of processor.Name, merchant string) error {
	there, err := v.bytes.Stands(string(ref.tokensName()))
	if err != nil || !there {
		return err
	}
	return v.changeCardTokens(ctx, ref, owner, func(all []CardToken) []CardToken {
		return slices.DeleteFunc(slices.Clone(all), CardToken{Processor: of, MerchantID: merchant}.of)
	})
}

// changeCardTokens replaces the tokens of a card. A value is never written twice: the old one is
// destroyed first. After a crash in between the tokens are lost.
func (v *Store) changeCardTokens(ctx context.Context, ref CardRef, owner domain.SecretID, change func([]CardToken) []CardToken) error {
	name := ref.tokensName()
	there, err := v.bytes.Stands(string(name))
	if err != nil {
		return err
	}
	var all []CardToken
	if there {
		if all, err = v.cardTokens(ctx, name); err != nil {
			return err
		}
	}
	next := change(all)
	if there && slices.Equal(all, next) && len(all) > 0 {
		return nil
	}
	if there {
		if err := v.Destroy(ctx, name); err != nil {
			return err
		}
	}
	if len(next) == 0 {
		return nil
	}
	plain, err := codec.Marshal(next)
	if err != nil {
		return fmt.Errorf("secrets: tokens of a card: %w", err)
	}
	return v.createOwned(ctx, name, owner, plain)
}
